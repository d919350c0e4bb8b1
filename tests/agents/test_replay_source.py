"""Rows to recordings: the same as from the chunks themselves, and never an exception."""

from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents.audit.erasure import erase
from agents.core.chunks import Decision, Turn
from agents.core.config import AgentConfig
from agents.core.replay.engine import replay
from agents.core.replay.recording import DAMAGED_MESSAGE, Recording
from agents.models import AgentRun, RunEvent
from agents.replay_source import load_recordings
from tests.agents.audit.stored_runs import FIVE_TURNS, STUCK, kept, people, stored
from tests.agents.core.recorded_runs import chunks_of, recording_of
from tests.agents.models.factories import run_of
from tests.support.script import call, say

pytestmark = pytest.mark.django_db


def recording(run: AgentRun, **how: Any) -> Recording:
    (found,) = load_recordings([run.pk], **how)
    return found


def test_rows_say_what_the_chunks_said() -> None:
    chunks = chunks_of(FIVE_TURNS, AgentConfig())
    run = kept(chunks)
    found = recording(run, tree="two_sources")
    assert found.damage == ""
    assert found.started_at == run.started_at.timestamp()
    wanted = recording_of(chunks, AgentConfig(), id=str(run.pk), started_at=found.started_at)
    assert found == wanted


def test_nothing_changed_gives_the_same() -> None:
    for steps in (FIVE_TURNS, STUCK):
        assert replay(recording(stored(steps))).kind == "same"


def test_a_tree_that_looks_at_results_is_shown_them() -> None:
    run = stored([call("look", page=1), say("So.")], tree="two_sources", then=call("look", page=2))
    assert recording(run).has_content
    assert replay(recording(run)).kind == "same"
    once = stored([call("look", page=1), say("So.")])
    assert replay(recording(once, tree="two_sources"), tree="two_sources").kind == "later"


def test_what_was_erased_is_not_needed_but_by_trees_that_look_at_it() -> None:
    run = stored([*STUCK[:3], call("look"), say("So.")])
    erase([run.pk], why="a test")
    assert RunEvent.objects.filter(run=run).exclude(content="").count() == 0
    found = recording(run, tree="two_sources")
    assert (found.damage, found.has_content) == ("", False)
    assert (replay(found).kind, replay(found).reason) == ("same", "no_progress")
    assert replay(found, tree="two_sources").kind == "unknown"


def test_a_run_that_goes_on_is_read_as_far_as_it_is() -> None:
    chunks = chunks_of(FIVE_TURNS, AgentConfig())
    found = recording(kept(chunks[:20]))
    assert (found.damage, found.reason) == ("", "")
    assert replay(found).kind == "unknown"


def test_runs_come_in_order_and_ids_that_there_are_not_are_passed_over() -> None:
    runs = [stored(STUCK) for _ in range(5)]
    wanted = [runs[3].pk, uuid4(), runs[0].pk]
    assert [found.id for found in load_recordings(wanted)] == [str(runs[3].pk), str(runs[0].pk)]
    newest = AgentRun.objects.order_by("-started_at")
    assert [found.id for found in load_recordings(newest, batch_size=2)] == [
        str(run.pk) for run in reversed(runs)
    ]
    assert list(load_recordings([])) == []


def test_the_number_of_queries_does_not_grow_with_runs() -> None:
    for _ in range(6):
        stored(STUCK)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert len(list(load_recordings(AgentRun.objects.all()))) == 6
    assert len(queries) == 3
    with CaptureQueriesContext(connection) as queries:
        assert len(list(load_recordings(AgentRun.objects.all(), batch_size=3))) == 6
    assert len(queries) == 5


# -- damage ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Turn, Decision])
def test_a_run_with_an_event_missing_is_marked_and_the_others_are_not(kind: type) -> None:
    chunks = chunks_of(FIVE_TURNS, AgentConfig())
    sound = kept(chunks)
    lost = next(chunk for chunk in chunks[10:] if isinstance(chunk, kind))
    damaged = kept(chunks, but=[lost])
    found = {one.id: one.damage for one in load_recordings([damaged.pk, sound.pk])}
    assert found == {str(damaged.pk): DAMAGED_MESSAGE, str(sound.pk): ""}
    assert replay(recording(damaged), limits={"max_iterations": 1}).kind == "unknown"


def test_a_run_without_any_events_is_marked() -> None:
    user, project = people()
    run = run_of(user, project, outcome="completed", reason="completed", turns=3)
    assert recording(run).damage == DAMAGED_MESSAGE
    cut = run_of(user, project, outcome="failed", reason="interrupted", turns=3)
    assert recording(cut).damage == DAMAGED_MESSAGE


def test_a_run_whose_row_counts_other_turns_than_its_events_is_marked() -> None:
    chunks = chunks_of(FIVE_TURNS, AgentConfig())
    used = sum(c.prompt_tokens + c.completion_tokens for c in chunks if isinstance(c, Turn))
    for turns, tokens, damage in (
        (5, used, ""),
        (4, used, DAMAGED_MESSAGE),
        (5, used + 1, DAMAGED_MESSAGE),
    ):
        run = kept(chunks[:-1])
        AgentRun.objects.filter(pk=run.pk).update(
            outcome="completed", reason="completed", turns=turns, tokens_in=tokens
        )
        assert recording(run).damage == damage


@pytest.mark.parametrize(
    "config", [[], "x", 3, None, {"max_iterations": 0}, {"colour": 3}, {"token_budget": "many"}]
)
def test_limits_that_are_none_are_damage(config: Any) -> None:
    user, project = people()
    run = run_of(user, project, config=config if config is not None else "null")
    assert recording(run).damage == DAMAGED_MESSAGE


@pytest.mark.parametrize("data", [[], "x", 3, {}, {"phase": "end"}, {"checks": 3}, [[[]]]])
def test_an_event_with_other_data_is_damage(data: Any) -> None:
    user, project = people()
    for kind in ("turn", "decision", "tool_call", "tool_result", "context_update"):
        run = run_of(user, project)
        RunEvent.objects.create(run=run, seq=1, kind=kind, data=data, sha256="", at=run.started_at)
        assert recording(run, tree="two_sources").damage == DAMAGED_MESSAGE


def test_text_that_is_no_json_is_one_runs_damage() -> None:
    """Databases keep such text out; a file that was tampered with has it all the same."""
    if connection.vendor != "sqlite":
        pytest.skip("only SQLite can be made to store it")
    sound, damaged = stored(STUCK), run_of(*people())
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA ignore_check_constraints = ON")
        try:
            cursor.execute(
                "INSERT INTO agents_runevent (run_id, seq, kind, data, content, sha256, link, at)"
                " VALUES (%s, 1, 'turn', '{', '', '', '', %s)",
                [damaged.pk.hex, damaged.started_at],
            )
            cursor.execute(
                "UPDATE agents_agentrun SET config = '{' WHERE id = %s", [run_of(*people()).pk.hex]
            )
        finally:
            cursor.execute("PRAGMA ignore_check_constraints = OFF")
    found = [one.damage for one in load_recordings(AgentRun.objects.order_by("started_at"))]
    assert found == ["", DAMAGED_MESSAGE, DAMAGED_MESSAGE]
    assert sound.outcome == "limited"
