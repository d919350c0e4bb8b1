"""Every tool, in a run of everybody: it sees and changes what is in its project, by the rights
that the person has at that moment."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from asgiref.sync import async_to_sync, sync_to_async

from agents.core.config import AgentConfig
from agents.core.messages import ToolCall
from agents.models import Membership, ModelSettings, Project
from agents.projects.members import change_role, remove_member
from agents.projects.services import archive_project, delete_project
from agents.runtime import RunRequest
from agents.runtime.factory import SiteRunFactory
from agents.settings_service import update_settings
from agents.tools.blocking import THREADS
from agents.tools.catalogue import TOOLS
from tests.access.scene import HARBOUR, PLACES, Scene
from tests.agents.tools.factories import context

READS, WRITES, NEITHER = "reads", "writes", "has nothing to do with projects"
KINDS = {
    "calculate": NEITHER,
    "current_time": NEITHER,
    "delegate_librarian": READS,
    "notify_self": NEITHER,
    "think": NEITHER,
    "find_definition": READS,
    "find_references": READS,
    "get_repo_map": READS,
    "search_code": READS,
    "thread_list": READS,
    "thread_push": WRITES,
    "thread_read": READS,
    "thread_seek": READS,
    "vault_create_index": WRITES,
    "vault_list": READS,
    "vault_move": WRITES,
    "vault_read": READS,
    "vault_search": READS,
    "vault_write": WRITES,
    "web_fetch": NEITHER,
}
THEIRS = f"{HARBOUR}/{HARBOUR} of it.md"
"""A note of the harbour, as the outsider would ask for it in the quarry."""
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("vault_search", {"queries": ["tide", "other one"], "limit": 20}),
    ("vault_search", {"queries": ["project:harbour OR other one"]}),
    ("vault_search", {"queries": ["tide"], "tag": f"{HARBOUR}/x"}),
    ("vault_search", {"queries": ["tide"], "folder": "../harbour"}),
    ("vault_list", {}),
    ("vault_list", {"folder": "../harbour"}),
    *(
        ("vault_read", {"path": path})
        for path in ("plan/tide.md", "../harbour/plan/tide.md", "/harbour/plan/tide.md")
    ),
    ("vault_read", {"path": THEIRS}),
    ("vault_write", {"path": "plan/tide.md", "body": "mine"}),
    ("vault_write", {"path": THEIRS, "body": "mine"}),
    ("vault_move", {"old_path": THEIRS, "new_path": "mine.md"}),
    ("vault_move", {"old_path": "plan", "new_path": "../harbour/plan"}),
    ("vault_create_index", {"folder": "plan", "title": "Mine"}),
    ("search_code", {"queries": ["tide", "project:harbour"], "limit": 20}),
    ("search_code", {"queries": ["tide"], "language": "python"}),
    ("find_definition", {"symbol": "tide_level"}),
    ("find_definition", {"symbol": "tide_level", "scope": "../harbour"}),
    ("find_references", {"symbol": "tide_level", "limit": 50}),
    ("get_repo_map", {}),
    ("get_repo_map", {"scope": "../harbour"}),
    ("thread_list", {"status": "all"}),
    ("thread_read", {"thread": "power", "limit": 50}),
    ("thread_read", {"thread": HARBOUR}),
    ("thread_seek", {"queries": ["tide", "decided"], "limit": 20}),
    ("thread_seek", {"queries": ["project:harbour OR tide"]}),
    ("thread_push", {"thread": "power", "content": "mine", "type": "decision"}),
    ("thread_push", {"thread": HARBOUR, "content": "mine"}),
]

READING = [
    *(CALLS[:1] + CALLS[4:5]),
    ("vault_read", {"path": "plan/tide.md"}),
    ("thread_list", {}),
    ("thread_read", {"thread": "power"}),
    ("thread_seek", {"queries": ["tide"]}),
]
"""Calls that tell something of the harbour to everybody in it."""


class Run:
    """A run of somebody, as the site would furnish it."""

    def __init__(self, scene: Scene, who: str, project: Project) -> None:
        user = scene.users[who]
        update_settings(ModelSettings, user, {"provider": "ollama", "oracle_model": "m"})
        http = httpx.AsyncClient()
        factory = SiteRunFactory(http, http)
        request = RunRequest(user=user, project=project, question="?", config=AgentConfig())
        self.tools = factory.tools(request, factory.model(request), scene.talks[who].run_id)
        self.prompt = factory.system_prompt(request)

    def use(self, name: str, **arguments: Any) -> str:
        """What the model is told about a call."""

        async def run() -> str:
            return (await self.tools.run(ToolCall("c1", name, arguments), context())).content

        return async_to_sync(run)()


def test_every_tool_is_classified() -> None:
    shipped = {name for name, tool in TOOLS if tool.function.__module__.startswith("agents.")}
    assert shipped == set(KINDS), "say in KINDS what it does"
    assert {name for name in shipped if TOOLS.get(name).writes} == {
        name for name, kind in KINDS.items() if kind is WRITES
    }
    used = {name for name, _ in CALLS} | {"delegate_librarian"}  # which only has the others
    assert used == {name for name, kind in KINDS.items() if kind is not NEITHER}


@pytest.fixture(autouse=True)
def in_this_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tools see what the transaction of the test has."""

    async def run(function: Callable[[], Any]) -> Any:
        return await sync_to_async(function)()

    monkeypatch.setattr(THREADS, "run", run)


@pytest.mark.parametrize("who", ["outsider", *PLACES])
def test_no_tool_gets_or_changes_anything_of_another_project(scene: Scene, who: str) -> None:
    is_outsider = who == "outsider"
    run = Run(scene, who, scene.quarry if is_outsider else scene.project)
    before = scene.digest()
    told = run.prompt
    for name, arguments in CALLS:
        result = run.use(name, **arguments)
        for given in map(str, arguments.values()):
            result = result.replace(given, "")  # refusals repeat what was asked for
        told += result.replace(THEIRS, "").replace(f"{HARBOUR}/x", "")
    assert [word for word in scene.forbidden(who, "open") if word in told] == []
    assert (scene.digest() == before) is (who in ("outsider", "reader"))


LOSSES: dict[str, Callable[[Scene], object]] = {
    "removed": lambda scene: remove_member(scene.project, scene.users["member"], by=None),
    "made a reader": lambda scene: change_role(
        scene.project, scene.users["member"], Membership.Role.READER, by=None
    ),
    "archived": lambda scene: archive_project(scene.project, by=None),
    "deleted": lambda scene: delete_project(scene.project, by=None),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_run_that_has_not_ended_yet_does_nothing_that_its_person_may_not_any_more(
    scene: Scene, loss: str
) -> None:
    run = Run(scene, "member", scene.project)
    assert "tide" in run.use("vault_read", path="plan/tide.md")
    LOSSES[loss](scene)
    before = scene.digest()
    for name, arguments in CALLS:
        if TOOLS.get(name).writes:
            assert "Refused" in run.use(name, **arguments)
    assert scene.digest() == before
    can_read = loss in ("made a reader", "archived")
    for name, arguments in READING:
        assert (HARBOUR in run.use(name, **arguments)) is can_read
