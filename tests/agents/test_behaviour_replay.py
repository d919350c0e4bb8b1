"""Stored runs under another behaviour: what is foretold is what happens, or it is not known."""

from collections import Counter
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents.behaviour_replay import TOO_DEAR, replay_behaviour
from agents.core.behaviours import Behaviour, read_behaviour
from agents.core.behaviours.rehearsal import OTHER_CALLS, OTHER_WORDS
from agents.core.behaviours.shipped import load_shipped_texts
from agents.core.config import AgentConfig
from agents.core.loop import Control
from agents.core.replay.recording import DAMAGED_MESSAGE
from agents.core.replay.result import Verdict
from agents.core.rules.reader import read_rule
from agents.models import AgentRun, RunEvent
from tests.agents.audit.stored_runs import FIVE_TURNS, kept, stored
from tests.agents.core.factories import done
from tests.agents.core.recorded_runs import chunks_of, stubborn
from tests.support.history_rewriting import rewritable
from tests.support.script import call, say

pytestmark = pytest.mark.django_db
LOOSE = AgentConfig(max_iterations=50, token_budget=200_000, timeout_seconds=600)
DEFAULT = load_shipped_texts()["oracle-agent"]
OTHERS = (
    DEFAULT,
    '(tree "a" :decision-tree "quick" (repeater :until-success (turn)))',
    '(tree "a" (repeater :until-success :max-iterations 4 (turn)))',
    '(tree "a" (selector (turn) (stop timeout)))',
    '(tree "a" (repeater :until-success (turn :tools :reading)))',
    '(tree "a" (selector (turn) (turn :interim "Draft") (approve "May I?")))',
    '(tree "a" (repeater :until-success :max-iterations 3 (turn :interim "Draft")))',
)


def writes(tool: str) -> bool:
    return tool == "save"


def judged(text: str | Behaviour, *runs: AgentRun, **how: Any) -> list[Verdict]:
    behaviour = read_behaviour(text) if isinstance(text, str) else text
    return list(replay_behaviour(behaviour, [run.pk for run in runs], writes=writes, **how))


def driven(behaviour: Behaviour, *steps: Any) -> AgentRun:
    chunks = chunks_of(steps, AgentConfig(), control=Control(behaviour=behaviour))
    return kept(chunks, behaviour=behaviour.name, behaviour_digest=behaviour.digest)


def test_a_filtered_run_might_have_gone_on_under_a_behaviour_with_another_branch() -> None:
    run = stored([say("It is", finish="content_filter")])
    (same,) = judged(DEFAULT, run)
    assert (same.kind, same.reason) == ("same", "content_filter")
    (other,) = judged('(tree "a" (selector (turn) (turn)))', run)
    assert other.kind == "later"
    assert other.why_unknown


@pytest.mark.parametrize(
    "count", [pytest.param(42, marks=pytest.mark.ci), pytest.param(420, marks=pytest.mark.long)]
)
def test_what_is_foretold_is_what_a_real_run_under_that_behaviour_does(count: int) -> None:
    """A model that ignores what it is told, recorded under the default behaviour."""
    found: Counter[str] = Counter()
    for seed in range(count):
        behaviour = read_behaviour(OTHERS[seed % len(OTHERS)])
        run = stored([], LOOSE, then=stubborn(seed))
        (verdict,) = judged(behaviour, run)
        found[verdict.kind] += 1
        if not verdict.reason:
            assert verdict.why_unknown
            continue
        how: dict[str, Any] = {"tree": behaviour.decision_tree, "then": stubborn(seed)}
        real = done(chunks_of([], LOOSE, **how, control=Control(behaviour=behaviour)))
        expected = (real.termination_reason, real.turns_used)
        assert (verdict.reason, verdict.turn) == expected, f"seed {seed}: {behaviour.text}"
    assert found["same"] + found["earlier"] + found["other"] >= 0.6 * count, found
    assert found["unknown"] + found["later"] >= 1, found


def test_a_run_under_its_own_behaviour_ends_as_it_did() -> None:
    for text in OTHERS:
        behaviour = read_behaviour(text)
        if behaviour.decision_tree == "default":
            (verdict,) = judged(behaviour, driven(behaviour, *FIVE_TURNS))
            assert verdict.kind == "same", text


def test_what_a_runs_own_behaviour_said_or_fetched_is_not_taken_for_granted() -> None:
    told = read_behaviour('(tree "t" (repeater :until-success (turn :say "Hurry.")))')
    fetched = read_behaviour('(tree "f" (sequence (call look :args {:page 1}) (turn)))')
    (verdict,) = judged(DEFAULT, driven(told, say("So.")))
    assert (verdict.kind, verdict.why_unknown) == ("unknown", OTHER_WORDS)
    assert judged(told, driven(told, say("So.")))[0].kind == "same"
    (verdict,) = judged(DEFAULT, driven(fetched, say("So.")))
    assert (verdict.kind, verdict.why_unknown) == ("unknown", OTHER_CALLS)


ASKS_AGAIN = """[rule]
id = "look-first"
trigger = "on_turn_end"
once = true
[condition]
expression = "turn.answered and history.total_tool_calls == 0"
[[action]]
type = "ask_again"
message = "Look first."
"""


def test_an_answer_that_a_rule_sent_back_was_no_answer() -> None:
    control = Control(rules=(read_rule(ASKS_AGAIN),))
    run = kept(chunks_of([say("So."), *FIVE_TURNS], AgentConfig(), control=control))
    (verdict,) = judged('(tree "a" (repeater :until-success (turn)))', run)
    assert (run.turns, verdict.kind, verdict.turn) == (6, "same", 6)


def test_what_is_damaged_or_too_dear_is_not_known_and_nobody_elses_matter() -> None:
    good, bad = stored(FIVE_TURNS), stored(FIVE_TURNS)
    with rewritable():
        RunEvent.objects.filter(run=bad, kind="turn").first().delete()  # type: ignore[union-attr]
    first, second = judged(DEFAULT, good, bad)
    assert (first.kind, second.why_unknown) == ("same", DAMAGED_MESSAGE)
    (given_up,) = judged(DEFAULT, good, max_seconds=-1.0)
    assert given_up.why_unknown == TOO_DEAR


def test_limits_hold_under_another_behaviour_too() -> None:
    (verdict,) = judged(DEFAULT, stored(FIVE_TURNS), limits={"max_iterations": 3})
    assert (verdict.kind, verdict.reason, verdict.turn) == ("earlier", "max_iterations", 3)


def test_four_queries_are_enough_for_a_lot_of_runs() -> None:
    runs = [stored([call("look", page=1), say("So.")]) for _ in range(5)]
    with CaptureQueriesContext(connection) as asked:
        assert len(judged(DEFAULT, *runs)) == 5
    assert len(asked) == 4
