"""Stored events read back: chunks of the kinds that are asked for, in order, run by run."""

import ast
from pathlib import Path
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

import agents
from agents.core.chunks import (
    CallView,
    Content,
    Decision,
    OracleStreamChunk,
    ToolCalled,
    ToolResult,
)
from agents.ledger import queries
from agents.ledger.stored_events import (
    load_chunks,
    load_chunks_of_runs,
    load_rows_of_runs,
    load_run_record,
    query_events,
)
from agents.models import AgentRun, RunEvent
from tests.agents.models.factories import ada, engine, run_of

pytestmark = pytest.mark.django_db
AT = 1_700_000_000.0
ROOT = Path(agents.__file__).parent.parent
MAY_TOUCH_ROWS = ("agents/audit/", "agents/ledger/", "agents/migrations/", "agents/models/")
OF_ROWS = {"RunEvent", "decode_event"}


@pytest.fixture
def runs() -> list[AgentRun]:
    user = ada()
    project = engine(user)
    made = [run_of(user, project) for _ in range(2)]
    for run in made:
        store(run, said())
    return made


def store(run: AgentRun, chunks: list[OracleStreamChunk]) -> None:
    commit = queries.Commit(queries.Claim(run.pk, run.fence), chunks)
    queries.write([commit])


def said() -> list[OracleStreamChunk]:
    call = CallView("c1", "vault_read", {"path": "a.md"}, "pending")
    return [
        Content(content="One ", seq=1, at=AT),
        ToolCalled(tool_call=call, seq=2, at=AT),
        ToolResult(
            tool_call_id="c1", tool_result="A.", ok=True, duration_ms=1, order=0, seq=3, at=AT
        ),
        Content(content="two.", seq=4, at=AT),
    ]


def test_everything_comes_back_as_it_was_stored(runs: list[AgentRun]) -> None:
    assert list(load_chunks(runs[0].pk)) == said()


def test_only_the_kinds_that_are_asked_for_come_back(runs: list[AgentRun]) -> None:
    found = load_chunks(runs[0].pk, kinds=("tool_result", "content"))
    assert [chunk.seq for chunk in found] == [1, 3, 4]


def test_many_runs_are_one_query(
    runs: list[AgentRun], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        found = list(load_chunks_of_runs([run.pk for run in runs], kinds=("content",)))
    for run in runs:
        assert [chunk.seq for owner, chunk in found if owner == run.pk] == [1, 4]


def test_no_runs_are_no_query(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_num_queries(0):
        assert list(load_chunks_of_runs([], kinds=("content",))) == []


def test_a_kind_that_this_version_does_not_know_is_passed_over(runs: list[AgentRun]) -> None:
    RunEvent.objects.create(
        run=runs[0], seq=5, kind="hologram", data={}, sha256="", link="", at=runs[0].started_at
    )
    assert list(load_chunks(runs[0].pk, kinds=("content", "hologram")))[-1].seq == 4
    assert list(load_chunks(runs[0].pk)) == said()


def test_a_run_is_put_together(runs: list[AgentRun]) -> None:
    record = load_run_record(runs[0].pk)
    assert record.answer == "One two."
    assert record.results["c1"].tool_result == "A."


@pytest.mark.parametrize("count", [1, 2])
def test_rows_are_those_of_the_runs(runs: list[AgentRun], count: int) -> None:
    chosen = [run.pk for run in runs[:count]]
    assert set(query_events(chosen).values_list("run_id", flat=True)) == set(chosen)


def test_nobody_but_the_ledger_and_the_audit_touches_the_rows_of_events() -> None:
    """Others get chunks, or rows from the ledger: so events can move without them."""
    for package in ("agents", "chat", "oracle_site", "settings_ui"):
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            text = path.read_text()
            if any(word in text for word in OF_ROWS) and not name.startswith(MAY_TOUCH_ROWS):
                imported = {
                    alias.name
                    for node in ast.walk(ast.parse(text))
                    if isinstance(node, ast.ImportFrom)
                    for alias in node.names
                }
                assert not imported & OF_ROWS, name


def test_rows_of_runs_come_by_run_with_their_json_as_text(
    runs: list[AgentRun], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        found = load_rows_of_runs([run.pk for run in runs], ("content",), ("seq", "data_text"))
    assert found == {run.pk: [(1, "{}"), (4, "{}")] for run in runs}


def test_of_a_call_the_row_comes_back_that_says_what_it_asked_for(runs: list[AgentRun]) -> None:
    run = runs[0]
    store(run, [ToolCalled(tool_call=CallView("c1", "vault_read", {}, "running"), seq=5, at=AT)])
    found = load_rows_of_runs([run.pk], ("tool_call",), ("seq",))
    assert found == {run.pk: [(2,)]}


def test_of_decisions_those_come_back_that_have_the_words(runs: list[AgentRun]) -> None:
    run = runs[0]
    told: dict[str, Any] = {
        "goes_on": True,
        "reason": "",
        "tree": "default",
        "checks": (),
        "at": AT,
    }
    begun = Decision(checkpoint="start", seq=5, **told)
    store(run, [begun, Decision(checkpoint="turn", seq=6, **told)])
    kinds = ("decision", "content")
    found = load_rows_of_runs([run.pk], kinds, ("seq",), decisions_with='"checkpoint": "start"')
    assert found == {run.pk: [(1,), (4,), (5,)]}
