"""Words that a person wrote, in every field of rules, behaviours, reminders and approvals: they are
in the file that the person takes away, and in no table when they, or their runs, are erased."""

import re
from collections.abc import Callable, Iterator
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import connection

from agents.approvals import find_known_versions
from agents.audit.erasure import erase
from agents.audit.verify import verify_entries, verify_run
from agents.behaviour_service import create_behaviour
from agents.core.control.event_stream import list_events
from agents.core.control.events import EVENT_TYPES
from agents.core.ports import ChatModel, ToolRunner
from agents.ledger import load_chunks
from agents.models import (
    AgentRun,
    ApiToken,
    NotificationSettings,
    RuleState,
    StoredSubscriber,
    UserAgentConfig,
)
from agents.rule_firings import find_firings
from agents.rule_log import load_rule_log
from agents.rule_service import create_rule
from agents.runtime import RunRequest, Runtime
from agents.runtime.factory import build_world
from agents.settings_service import update_settings
from agents.tools.catalogue import TOOLS
from agents.tools.executor import ToolExecutor
from agents.vault.author import Author
from chat.services import ask
from chat.services.approvals import build_verdict, decide, get_pending
from chat.services.ask import RunOptions
from oracle_site.data_export import iter_document
from tests.agents.runtime.fake_factory import ScriptedRunFactory
from tests.chat.services.test_ask_runs import Chat
from tests.support.script import call, say

pytestmark = pytest.mark.django_db(transaction=True)

BEHAVIOUR = """(tree "qztree"
  :description "Does what qzdescribed says."
  :blackboard-schema {:qzkey ""}
  (sequence
    (turn :interim "qzinterim" :tools :none :into :qzkey :say "qzsaid")
    (notify "qznotified {qzkey}")
    (approve "qzasked {qzkey}")
    (repeater :until-success (turn :say "qzagreed"))))
"""
ABOUT = """[rule]
id = "{id}"
name = "{id}name"
description = "{id}about"
trigger = "{hook}"
once = true
[condition]
expression = "{when}"
"""
ACTIONS = {
    "qztells": (
        "on_turn_end",
        "turn.number > 0",
        [
            'type = "notify"\nmessage = "qzmessage"\nkeep = true',
            'type = "log"\nmessage = "qzlogged"',
            'type = "set_state"\nkey = "qzstate"\nvalue = "qzvalue"',
            'type = "emit_event"\nevent = "x.qzevent"\npayload = { qzfield = "qzpayload" }',
        ],
    ),
    "qzfails": (
        "on_turn_end",
        "10 / (turn.number - turn.number) > 1",
        ['type = "log"\nmessage = "qznever"'],
    ),
    "qzidle": (
        "on_turn_end",
        "turn.number > 40",
        ['type = "log"\nmessage = "qzsilent"'],
    ),
    "qzsends": (
        "on_turn_end",
        "turn.answered and history.total_tool_calls == 0",
        ['type = "ask_again"\nmessage = "qzagain"'],
    ),
    "qzholds": ("on_tool_call", "event.payload.writes", ['type = "hold"\nmessage = "qzheld"']),
    "qzstops": (
        "on_tool_complete",
        "result.tool_name == 'vault_list'",
        ['type = "stop"\nmessage = "qzstopped"'],
    ),
}
LISTENER = """[rule]
id = "qzlistens"
name = "qzhears"
on = ["x.qzevent"]
[[action]]
type = "log"
message = "qzheard"
"""
SUBSCRIBER = """[subscriber]
id = "of-the-site"
name = "What rules emit"
[events]
types = ["x.*"]
[output]
message = "A rule has emitted something."
"""
QUESTION, TOKEN = "Is it qzquestion?", "qztoken"
WORDS, CALL_WORDS, NOTE = "Rather qzdifferent.", "No, qzcallwords.", "Think of qznote."
MARK = re.compile(r"qz[a-z]+")
RUN_TABLES = (
    "agents_agentrun", "agents_runevent", "agents_runtool", "agents_approvalrequest",
    "agents_approvalcall", "agents_auditentry", "agents_behaviourtext", "agents_reminder",
    "chat_exchange",
)  # fmt: skip


def write_rules() -> Iterator[str]:
    for name, (hook, when, actions) in ACTIONS.items():
        about = ABOUT.format(id=name, hook=hook, when=when)
        yield about + "".join(f"[[action]]\n{action}\n" for action in actions)
    yield LISTENER


MARKS = set(
    MARK.findall(" ".join([BEHAVIOUR, *write_rules(), QUESTION, TOKEN, WORDS, CALL_WORDS, NOTE]))
)


class NotesFactory(ScriptedRunFactory):
    """A scripted model with tools that write, list, and keep a note for itself."""

    def tools(self, request: RunRequest, model: ChatModel, run_id: UUID) -> ToolRunner:
        world = build_world(
            request.project.pk,
            Author.run(run_id, request.user.pk),
            find_known_versions(run_id),
        )
        names = ("vault_list", "vault_write", "notify_self")
        return ToolExecutor([TOOLS.get(name) for name in names], world)


class Written(Chat):
    """Somebody who has written everything that can be written, and whose runs came to all of it."""

    def __init__(self) -> None:
        super().__init__(
            say("A plan."),  # the behaviour's first turn: then it asks
            say("As you wish."),
            say("Rather so."),  # sent back by a rule
            call("notify_self", message=NOTE, category="qznote", keep=True),
            call("vault_write", path="A.md", body="Red.\n"),  # held by a rule
            say("Not written."),
            say("Sent back."),
            call("vault_list"),  # stopped by a rule
            say("The end."),
        )
        self.runtime = Runtime(NotesFactory(self.model))

    async def live(self) -> None:
        await sync_to_async(self._write)()
        chosen = RunOptions(tree="qztree")
        asked = await self.first(QUESTION, chosen)
        assert (asked.outcome, asked.behaviour) == ("paused", "qztree")
        await self.run(self._decide, asked.pk, "differently", WORDS)
        held = await self.first(QUESTION, RunOptions(tree="default"))
        assert held.outcome == "paused"
        await self.run(self._decide, held.pk, "approved", "", {0: ("refused", CALL_WORDS)})
        stopped = await self.first(QUESTION, RunOptions(tree="default"))
        assert stopped.reason == "rule_stopped"

    def _write(self) -> None:
        create_behaviour(self.user, BEHAVIOUR)
        for text in write_rules():
            create_rule(self.user, text)
        StoredSubscriber.objects.create(name="of-the-site", text=SUBSCRIBER)
        NotificationSettings.objects.update_or_create(
            user=self.user, defaults={"keeps_reminders": True}
        )
        update_settings(UserAgentConfig, self.user, {"default_tree": "qztree"})
        ApiToken.issue(self.user, TOKEN, ["ask"])

    @staticmethod
    def _decide(
        user: User,
        run_id: UUID,
        verdict: str,
        words: str,
        calls: dict[int, tuple[str, str]] | None = None,
    ) -> ask.PreparedRun:
        pending = get_pending(user, run_id)
        each = {pending.calls[at].row.call_id: said for at, said in (calls or {}).items()}
        digest = pending.row.digest
        return decide(user, run_id, build_verdict(verdict, words, digest, each), via="page")


def find_marks(tables: tuple[str, ...] = ()) -> dict[str, set[str]]:
    """The marks in every table, whatever its columns are called."""
    found: dict[str, set[str]] = {}
    with connection.cursor() as cursor:
        for table in tables or connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')  # noqa: S608  # names of ours
            if marks := set(MARK.findall(str(cursor.fetchall()))):
                found[table] = marks
    return found


def check_audit() -> None:
    assert [verify_run(run) for run in AgentRun.objects.all()] == [None] * AgentRun.objects.count()
    assert verify_entries() is None


def list_recorded() -> set[str]:
    """What the runs came to, by the names of events and the reasons of ends."""
    chunks = [chunk for run in AgentRun.objects.all() for chunk in load_chunks(run.pk)]
    reasons = set(AgentRun.objects.values_list("reason", flat=True))
    return {event.name for event in list_events(chunks)} | reasons


def take_and_delete(person: Written) -> None:
    assert MARKS - set().union(*find_marks().values()) == set()
    assert MARKS - set(MARK.findall("".join(iter_document(person.user)))) == set()
    person.user.delete()
    assert find_marks() == {}


def erase_runs(person: Written) -> None:
    erase(list(AgentRun.objects.values_list("pk", flat=True)), why="a test")
    check_runs(person)


def check_runs(person: Written) -> None:
    """Nothing is left of what the runs were told; what the person wrote for later ones is there."""
    assert find_marks(RUN_TABLES) == {}
    assert not RuleState.objects.exists()
    assert {"qztree"} == {row.name for row in person.user.behaviours.all()}
    assert not any(key.startswith("own:") for key, _ in find_firings(person.user))
    for run in AgentRun.objects.all():
        log = load_rule_log(run.pk)
        assert not MARK.search(str(log))
    driven = AgentRun.objects.exclude(behaviour_digest="").filter(behaviour="")
    assert {run.mode for run in driven} == {"own behaviour"}


@pytest.mark.parametrize("forget", [take_and_delete, erase_runs])
async def test_all_that_a_person_wrote_is_in_their_file_and_in_no_table_when_it_is_erased(
    forget: Callable[[Written], None],
) -> None:
    async with Written() as person:
        await person.live()
        await sync_to_async(play_out)(person, forget)


def play_out(person: Written, forget: Callable[[Written], None]) -> None:
    recorded = {name for name in EVENT_TYPES if name.startswith("rule.")} | {"x.qzevent"}
    assert recorded | {"rule_stopped", "needs_approval"} <= list_recorded()
    fired = {key for key, _ in find_firings(person.user)}
    assert {f"own:{name}" for name in ACTIONS} - fired == {"own:qzfails", "own:qzidle"}
    check_audit()
    forget(person)
    check_audit()
