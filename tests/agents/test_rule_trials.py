"""Rows to trials of a rule: the same as from the chunks themselves, and never an exception."""

from random import Random
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents.audit.erasure import erase
from agents.core.chunks import Turn
from agents.core.config import AgentConfig
from agents.core.control.facts import RunBackground
from agents.core.replay.recording import DAMAGED_MESSAGE
from agents.core.rules.dry_run import ERASED, TOO_DEAR, RuleTrial, try_rule
from agents.core.rules.reader import read_rule
from agents.core.rules.rule import Rule
from agents.models import AgentRun, Note, RunEvent
from agents.rule_trials import try_rule_on_runs
from tests.agents.audit.stored_runs import FIVE_TURNS, STUCK, kept, people, stored
from tests.agents.core.recorded_runs import chunks_of, stubborn
from tests.agents.core.rules.random_rules import write_rule
from tests.agents.models.factories import run_of

pytestmark = pytest.mark.django_db


def write(
    condition: str = "true",
    *,
    head: str = 'trigger = "on_turn_end"',
    action: str = 'type = "log"\nmessage = "Noted."',
) -> Rule:
    return read_rule(
        f'[rule]\nid = "mine"\n{head}\n[condition]\nexpression = "{condition}"\n'
        f"[[action]]\n{action}"
    )


def attempt(rule: Rule, *runs: AgentRun) -> list[RuleTrial]:
    ids = [run.pk for run in runs]
    return list(try_rule_on_runs(rule, ids, writes=lambda tool: tool == "save"))


def test_rows_give_what_the_chunks_gave() -> None:
    config = AgentConfig()
    for seed in range(12):
        chunks = chunks_of([], config, then=stubborn(seed))
        run = kept(chunks)
        rule = read_rule(write_rule(Random(seed), 1))
        background = RunBackground(
            config=config,
            user_id=str(run.user_id),
            project_id=str(run.project_id),
            writes=lambda tool: tool == "save",
        )
        (found,) = attempt(rule, run)
        assert run.outcome
        assert found == try_rule(
            rule, chunks, background, run_id=str(run.pk), outcome=run.outcome
        ), seed


def test_runs_go_from_the_oldest_and_what_a_rule_remembers_goes_with_them() -> None:
    runs = [stored(FIVE_TURNS) for _ in range(3)]
    count = 'type = "set_state"\nkey = "runs"\nexpression = "(state.runs or 0) + 1"'
    rule = write(head='trigger = "on_session_end"', action=count)
    newest_first = AgentRun.objects.order_by("-started_at")
    found = list(try_rule_on_runs(rule, newest_first, writes=lambda _: False, batch_size=2))
    assert [trial.run_id for trial in found] == [str(run.pk) for run in runs]
    words = [trial.firings[0].effects[0].words for trial in found]
    assert words == ["runs = 1", "runs = 2", "runs = 3"]


def test_people_projects_and_tools_are_known() -> None:
    user, project = people()
    run = stored(FIVE_TURNS)
    for name in "ab":
        Note.objects.create(
            project=project, path=name, key=name, name_key=name, title=name, sha256=name, size=1
        )
    known = f"user.id == '{user.pk}' and project.id == '{project.pk}' and project.note_count == 2"
    (found,) = attempt(write(known), run)
    assert len(found.firings) == 5, found.why_not
    asked = write("not event.payload.writes", head='trigger = "on_tool_call"')
    assert len(attempt(asked, run)[0].firings) == 4


def test_an_erased_run_is_told_as_far_as_it_is_known() -> None:
    run = stored(FIVE_TURNS)
    erase([run.pk], why="a test")
    (counted,) = attempt(write("history.total_tool_calls >= 4"), run)
    assert len(counted.firings) == 2
    (sized,) = attempt(write("any(tool.size > 1 for tool in history.tools)"), run)
    assert (sized.firings, sized.why_unknown) == ((), ERASED)


def test_a_damaged_run_is_not_known_and_the_others_are() -> None:
    chunks = chunks_of(FIVE_TURNS, AgentConfig())
    gap = kept(chunks, but=[chunk for chunk in chunks if isinstance(chunk, Turn)][-1:])
    found = attempt(write(), gap, stored(STUCK))
    assert [trial.why_unknown for trial in found] == [DAMAGED_MESSAGE, ""]
    assert [len(trial.firings) for trial in found] == [0, 4]


def test_a_rule_that_takes_too_many_steps_is_not_tried_on_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agents.rule_trials.MAX_TRIAL_STEPS", 100)
    dear = write("len([t for t in history.tools if t.name == 'never']) >= 0")
    plain = write("history.total_tool_calls >= 0")
    runs = [stored(FIVE_TURNS) for _ in range(5)]
    ids = [run.pk for run in runs]
    found = list(try_rule_on_runs(dear, ids, writes=lambda _: False, batch_size=2))
    tried = [trial for trial in found if trial.firings]
    assert [trial.run_id for trial in found] == [str(run.pk) for run in runs]
    assert 1 <= len(tried) <= 3
    assert {trial.why_unknown for trial in found[len(tried) :]} == {TOO_DEAR}
    assert all(trial.firings for trial in attempt(plain, *runs))


def test_the_number_of_queries_does_not_grow_with_runs() -> None:
    for _ in range(5):
        stored(STUCK)
    with CaptureQueriesContext(connection) as queries:
        found = list(try_rule_on_runs(write(), AgentRun.objects.all(), writes=lambda _: False))
    assert (len(found), len(queries)) == (5, 4)


def test_a_run_that_goes_on_is_read_as_far_as_it_is() -> None:
    chunks = chunks_of(FIVE_TURNS, AgentConfig())
    (found,) = attempt(write(), kept(chunks[: len(chunks) // 2]))
    assert (found.outcome, found.why_unknown) == ("", "")
    assert 0 < len(found.firings) < 5


@pytest.mark.parametrize(
    "data", [[], "x", 3, {}, {"phase": "end"}, {"number": 1, "phase": "end", "answered": "x"}]
)
def test_rows_that_nobody_could_have_written_are_damage(data: Any) -> None:
    for kind in ("turn", "tool_call", "tool_result", "system", "done"):
        run = run_of(*people())
        RunEvent.objects.create(run=run, seq=1, kind=kind, data=data, sha256="", at=run.started_at)
        (found,) = attempt(write(), run)
        assert found.why_unknown == DAMAGED_MESSAGE


def test_limits_that_are_none_are_damage() -> None:
    (found,) = attempt(write(), run_of(*people(), config={"max_iterations": 0}))
    assert found.why_unknown == DAMAGED_MESSAGE
