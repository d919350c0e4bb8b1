"""Every tool that comes with Oracle: documented, with a contract test, and used by a real run."""

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agents.code.project_code import ProjectCode
from agents.core.ports import Service
from agents.models import Project
from agents.tools.catalogue import TOOLS
from agents.tools.executor import ToolExecutor
from agents.tools.librarian import Librarian
from agents.tools.self_notes import NoteCount
from agents.vault.author import Author
from agents.vault.project_notes import ProjectNotes
from agents.vault.project_threads import ProjectThreads
from tests.support.code import add_gauge
from tests.support.runs import Ran, drive, served
from tests.support.script import Script, call, say
from tests.support.web_server import WebServer, page

ROOT = Path(__file__).resolve().parents[3]
SHIPPED = [name for name, tool in TOOLS if tool.function.__module__.startswith("agents.")]
Calls = Sequence[tuple[str, dict[str, Any]]]
WRITE: Calls = [("vault_write", {"path": "plan/a.md", "body": "# Tides\n\nThe tide is high.\n"})]
PUSH: Calls = [
    ("thread_push", {"thread": "power", "content": "We take LFP.", "type": "decision"}),
]
USES: dict[str, tuple[Calls, str]] = {
    "think": ([("think", {"thought": "So it is."})], ""),
    "notify_self": (
        [("notify_self", {"message": "Check the tide."})],
        "Noted: you will be told (next_turn).",
    ),
    "calculate": ([("calculate", {"expression": "6 * 7"})], "42"),
    "web_fetch": ([("web_fetch", {"url": "PAGE"})], "> The tide is on the web."),
    "current_time": ([("current_time", {})], "20"),
    "delegate_librarian": ([("delegate_librarian", {"task": "Summarise."})], "Tides are read."),
    "vault_write": (WRITE, "Created plan/a.md (3 lines)."),
    "vault_search": ([*WRITE, ("vault_search", {"queries": ["tides"]})], "1. plan/a.md:3"),
    "vault_read": ([*WRITE, ("vault_read", {"path": "plan/a.md"})], "3| The tide is high."),
    "vault_list": ([*WRITE, ("vault_list", {})], "1 note\n- plan/a.md (Tides)"),
    "vault_move": (
        [*WRITE, ("vault_move", {"old_path": "plan/a.md", "new_path": "b.md"})],
        "Moved b.md.",
    ),
    "vault_create_index": (
        [*WRITE, ("vault_create_index", {"folder": "plan", "title": "Plans"})],
        "Created plan/Index.md",
    ),
    "thread_push": (PUSH, "Made the thread and added power#1 (decision)."),
    "thread_list": ([*PUSH, ("thread_list", {})], "1 active thread\n- power (1 entry, last on 20"),
    "thread_read": ([*PUSH, ("thread_read", {"thread": "Power"})], "  | We take LFP."),
    "thread_seek": ([*PUSH, ("thread_seek", {"queries": ["lfp"]})], "1. power#1 (score"),
    "search_code": ([("search_code", {"queries": ["level"]})], "1. src/gauge.py:6"),
    "find_definition": (
        [("find_definition", {"symbol": "Gauge.read"})],
        "- src/gauge.py:2 (2 lines) method Gauge.read\n     2|     def read(self) -> float:",
    ),
    "find_references": ([("find_references", {"symbol": "Gauge"})], "- src/gauge.py:6| level"),
    "get_repo_map": ([("get_repo_map", {})], "src/gauge.py:\n     1| class Gauge"),
}
"""Calls that lead to a use of each tool, and what its result holds. PAGE is that of a server."""


def test_every_tool_is_used_here() -> None:
    assert sorted(USES) == sorted(SHIPPED)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_tool_has_its_heading_in_the_documentation(name: str) -> None:
    assert f"\n## {name}\n" in (ROOT / "docs" / "tools.md").read_text()


@pytest.mark.parametrize("name", SHIPPED)
def test_every_tool_has_a_contract_test(name: str) -> None:
    """In the test of its module: called by name through the executor or as the function it is."""
    module = TOOLS.get(name).function.__module__.rpartition(".")[2]
    source = (ROOT / "tests" / "agents" / "tools" / f"test_{module}.py").read_text()
    assert name in list_called(source)


def list_called(source: str) -> set[str]:
    """Return what the tests of a module call: functions, and tools by a name that is passed."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    passed = (arg.value for node in calls for arg in node.args if isinstance(arg, ast.Constant))
    functions = (node.func.id for node in calls if isinstance(node.func, ast.Name))
    return {*functions, *(value for value in passed if isinstance(value, str))}


def test_a_tool_that_a_test_only_mentions_counts_as_none() -> None:
    source = 'def test_a():\n    call("used")\n    assert text == "mentioned"\n'
    assert "used" in list_called(source)
    assert "mentioned" not in list_called(source)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", SHIPPED)
async def test_every_tool_works_through_the_loop_and_a_real_endpoint(
    name: str, project_notes: ProjectNotes
) -> None:
    calls, expected = USES[name]
    ran = await ask(calls, project_notes)
    assert (ran.reason, ran.answer) == ("completed", "Done.")
    *_, last = ran.record.results.values()
    assert last.ok, last.tool_result
    assert expected in last.tool_result


@pytest.fixture
def project_notes() -> ProjectNotes:
    project = Project.objects.create(name="harbour", slug="harbour")
    add_gauge(project)
    return ProjectNotes(project.pk, Author.importer())


async def ask(calls: Calls, notes: ProjectNotes) -> Ran:
    async with WebServer({"/": page("<p>The tide is on the web.")}) as web:
        given = [(name, _fill_in(arguments, web)) for name, arguments in calls]
        return await _ask(given, notes, web)


def _fill_in(arguments: dict[str, Any], web: WebServer) -> dict[str, Any]:
    return {key: web.url() if value == "PAGE" else value for key, value in arguments.items()}


async def _ask(calls: Calls, notes: ProjectNotes, web: WebServer) -> Ran:
    steps = [call(name, **arguments) for name, arguments in calls]
    main, sub = Script([*steps, say("Done.")]), Script(then=say("Tides are read."))
    async with served(main=main, sub=sub) as bench:
        librarian = Librarian(
            model=bench.model("sub"),
            tools=ToolExecutor([TOOLS.get("vault_read")], [notes]),
            seconds=60,
        )
        threads = ProjectThreads(notes.project_id, Author.importer())
        services: list[Service] = [
            NoteCount(),
            notes,
            threads,
            ProjectCode(notes.project_id),
            librarian,
            web.pages(),
        ]
        tools = ToolExecutor([TOOLS.get(name) for name in SHIPPED], services)
        return await drive(bench.model("main"), tools)
