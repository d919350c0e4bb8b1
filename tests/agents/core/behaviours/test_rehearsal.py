"""A behaviour on a run of the past: as far as the recording can tell."""

import pytest

from agents.core.behaviours import read_behaviour
from agents.core.behaviours.rehearsal import (
    EMPTY_ANSWER,
    NOT_INTERIM,
    NOT_RECORDED,
    NOT_SAID,
    OWN_CALLS,
    Rehearsal,
    RehearsedTurn,
    rehearse,
)
from agents.core.behaviours.shipped import load_shipped_texts
from agents.core.config import AgentConfig

SHIPPED = load_shipped_texts()
LOOKED = RehearsedTurn(number=1, tools=("look",))
WROTE = RehearsedTurn(number=1, tools=("write",))
ANSWERED = RehearsedTurn(number=2, text="It is so.")
PLANNED = RehearsedTurn(
    number=1,
    text="1. Look",
    interim="Plan",
    hints="Oracle: Look around if you must. Then write a numbered plan of at most five steps, "
    "nothing else.",
)
DONE = RehearsedTurn(
    number=2,
    text="Done.",
    hints="Oracle: Work off your plan. Answer when it is done, and say which steps you left out.",
)


def play(text: str, *turns: RehearsedTurn) -> Rehearsal:
    behaviour = read_behaviour(text)
    return rehearse(
        behaviour,
        turns,
        question="Is it so?",
        config=AgentConfig(),
        writes=lambda tool: tool == "write",
    )


def test_the_shipped_one_goes_the_whole_way_of_a_run_that_was_driven_by_it() -> None:
    found = play(SHIPPED["oracle-agent"], LOOKED, ANSWERED)
    assert (found.turns, found.reason, found.why_unknown) == (2, "completed", "")
    assert play(SHIPPED["oracle-agent"], LOOKED).why_unknown == NOT_RECORDED
    paths = [way.path for way in found.trace.ways]
    assert paths[0] == "2+"
    assert paths[1].startswith("7+ 10+ 11+ 12+ 15+")
    assert paths[2].startswith("7+ 10- 9- 16+")


@pytest.mark.parametrize("failure", ["content_filter", "output_truncated"])
def test_after_a_failed_request_it_is_known_only_where_no_branch_is_left(failure: str) -> None:
    failed = RehearsedTurn(number=1, text="So", failure=failure)
    for text in (SHIPPED["oracle-agent"], '(tree "a" (turn))'):
        found = play(text, failed)
        assert (found.turns, found.reason, found.why_unknown) == (1, failure, "")
    other = '(tree "a" (selector (turn) (turn)))'
    assert (play(other, failed).reason, play(other, failed).why_unknown) == ("", NOT_RECORDED)


def test_one_that_was_changed_goes_along_until_the_changed_sentence() -> None:
    plan = SHIPPED["plan-then-do"]
    same = play(plan, PLANNED, DONE)
    assert (same.turns, same.reason, same.notices) == (2, "completed", ("Plan\n1. Look",))
    changed = play(plan.replace("Work off", "Hurry through"), PLANNED, DONE)
    assert (changed.turns, changed.reason, changed.why_unknown) == (1, "", NOT_SAID)
    assert changed.trace.end is not None
    assert changed.trace.end.node.number == 6


def test_what_the_model_was_not_told_or_not_offered_or_not_asked_for_is_not_known() -> None:
    assert play(SHIPPED["plan-then-do"], LOOKED, ANSWERED).why_unknown == NOT_SAID
    reading = '(tree "a" (repeater :until-success (turn :tools :reading)))'
    assert play(reading, LOOKED, ANSWERED).reason == "completed"
    assert "offered write" in play(reading, WROTE, ANSWERED).why_unknown
    none = '(tree "a" (repeater :until-success (turn :tools :none)))'
    assert "offered look" in play(none, LOOKED, ANSWERED).why_unknown
    assert play('(tree "a" (repeater :until-success (turn)))', PLANNED).why_unknown == NOT_INTERIM
    assert play('(tree "a" (call look))', ANSWERED).why_unknown == OWN_CALLS


def test_a_reply_that_was_no_answer_is_none_here() -> None:
    text = '(tree "a" (repeater :until-success (turn)))'
    found = play(text, RehearsedTurn(number=1, is_blank=True), ANSWERED)
    assert (found.turns, found.reason) == (2, "completed")


def test_an_empty_answer_counts_only_after_a_text_that_still_does() -> None:
    asked, empty = RehearsedTurn(number=1, text="So.", tools=("look",)), RehearsedTurn(number=2)
    text = '(tree "a" (repeater :until-success (turn{})))'
    assert play(text.format(""), asked, empty).reason == "completed"
    assert play(text.format(' :interim "Draft"'), asked, empty).why_unknown == EMPTY_ANSWER


def test_what_it_would_end_or_ask_is_told() -> None:
    assert play('(tree "a" (sequence (turn) (stop timeout)))', ANSWERED, DONE).reason == "timeout"
    asked = play('(tree "a" (sequence (turn) (approve "May I?")))', ANSWERED)
    assert (asked.reason, asked.notices) == ("needs_approval", ("May I?",))


@pytest.mark.parametrize(
    ("condition", "reason"),
    [('lower(plan) == \\"no\\"', "behaviour_ended"), ('plan == \\"1. Look\\"', "completed")],
)
def test_expressions_over_recorded_texts_are_answered(condition: str, reason: str) -> None:
    text = '(tree "a" :blackboard-schema {:plan ""} (sequence (turn :interim "Plan" :into :plan) '
    text += f'(condition "{condition}") (turn)))'
    assert play(text, PLANNED, ANSWERED).reason == reason


def test_an_expression_over_what_is_not_recorded_ends_what_is_known() -> None:
    found = play('(tree "a" (sequence (turn) (condition "turn.number > 3") (turn)))', ANSWERED)
    assert found.reason != "completed"
