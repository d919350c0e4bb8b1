"""When a run ends and when it is warned: the specification, 3.2, 3.3 and 3.5."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.core.chunks import Check
from agents.core.progress import SHIPPED, Step, StuckRules, Track
from agents.core.reasons import REASONS
from agents.core.rules import (
    ENFORCED,
    checks,
    due_warnings,
    first_fired,
    limit_notice,
    shortened,
    told,
    with_due_warnings,
)
from agents.core.state import AgentState, Notice
from agents.core.tokens import MIN_ANSWER
from agents.core.trees.default import DefaultTree
from tests.agents.core.runs import fresh, limits

CONFIG = limits(max_iterations=10, token_budget=10_000, timeout_seconds=100)


def tracked(*steps: Step, rules: StuckRules = SHIPPED) -> Track:
    track = Track(rules=rules)
    for step in steps:
        track = track.after(step)
    return track


STUCK = tracked(*[Step("look:{}", "r", "r")] * 3)

# What makes each rule fire, in order of precedence.
FIRING: dict[str, dict[str, Any]] = {
    "user_cancelled": {"cancelled": True},
    "completed": {"finish_reason": "stop"},
    "max_iterations": {"turn": 10},
    "token_budget": {"tokens_used": 10_000},
    "timeout": {"now": 85.0},
    "no_progress": {"track": STUCK},
    "error_limit": {"error_streak": 3},
    "output_truncated": {"finish_reason": "length"},
    "content_filter": {"finish_reason": "content_filter"},
    "empty_answer": {"empty_answers": 2},
}
ORDER = list(FIRING)


def fired(state: AgentState) -> list[str]:
    return [check.rule for check in checks(state) if check.fired]


def decided(state: AgentState) -> tuple[bool, str]:
    return DefaultTree(state.config).should_continue(state)


def keys(state: AgentState) -> list[str]:
    return [notice.key for notice in due_warnings(state)]


def only(found: list[Notice], key: str) -> Notice:
    (notice,) = [n for n in found if n.key == key]
    return notice


# -- what fires -----------------------------------------------------------------------------------


@given(st.sets(st.sampled_from(ORDER)))
def test_the_first_rule_that_fires_is_the_first_of_the_checks(rules: set[str]) -> None:
    state = fresh(CONFIG, **{k: v for rule in rules for k, v in FIRING[rule].items()})
    assert first_fired(state) == next(iter(fired(state)), None)
    hard = [rule for rule in fired(state) if rule in ENFORCED]
    assert first_fired(state, enforced=True) == next(iter(hard), None)


def test_a_fresh_run_goes_on() -> None:
    assert fired(fresh(CONFIG)) == []
    assert decided(fresh(CONFIG)) == (True, "")


def test_every_rule_is_checked_in_order_even_when_none_fires() -> None:
    assert [check.rule for check in checks(fresh(CONFIG))] == ORDER


@pytest.mark.parametrize("rule", ORDER)
def test_each_rule_fires_alone(rule: str) -> None:
    state = fresh(CONFIG, **FIRING[rule])
    assert fired(state) == [rule]
    assert decided(state) == (False, rule)


@pytest.mark.parametrize(
    "almost",
    [
        {"turn": 9},
        {"tokens_used": 9_999},
        {"tokens_used": 4_000, "next_request": 6_000},
        {"now": 84.999},
        {"track": tracked(*[Step("look:{}", "r", "r")] * 2)},
        {"error_streak": 2},
        {"empty_answers": 1},
        {"finish_reason": "tool_calls"},
        {"finish_reason": "empty"},
        {"finish_reason": "cut"},
    ],
    ids=str,
)
def test_nothing_fires_one_step_before_a_limit(almost: dict[str, Any]) -> None:
    assert fired(fresh(CONFIG, **almost)) == []


@given(st.sets(st.sampled_from(ORDER), min_size=1))
def test_the_first_rule_that_holds_wins(holding: set[str]) -> None:
    ends = holding & {"completed", "output_truncated", "content_filter"}
    if len(ends) > 1:  # an answer ends in one way
        holding -= ends - {min(ends)}
    state = fresh(CONFIG)
    for rule in holding:
        state = replace(state, **FIRING[rule])
    assert fired(state) == [rule for rule in ORDER if rule in holding]
    assert decided(state) == (False, min(holding, key=ORDER.index))


@pytest.mark.parametrize(
    "spent",
    [
        {"tokens_used": 10_000},
        {"tokens_used": 12_000},
        {"tokens_used": 4_000, "next_request": 6_001},
        {"finish_reason": "budget"},
        {"context_tokens": 8_001 - MIN_ANSWER, "context_window": 8_000},
    ],
    ids=str,
)
def test_the_budget_is_spent_or_the_next_request_does_not_fit(spent: dict[str, Any]) -> None:
    assert fired(fresh(CONFIG, **spent)) == ["token_budget"]


def test_a_window_that_is_just_large_enough_does_not_end_a_run() -> None:
    assert fired(fresh(CONFIG, context_tokens=8_000 - MIN_ANSWER, context_window=8_000)) == []


def test_an_answer_on_the_wrap_up_turn_is_not_a_completion() -> None:
    state = fresh(CONFIG, finish_reason="stop", wrap_up_reason="timeout")
    assert "completed" not in fired(state)


def test_a_smaller_share_of_tokens_is_the_limit() -> None:
    assert fired(fresh(CONFIG, token_limit=500, tokens_used=500)) == ["token_budget"]


def test_checks_show_what_was_measured_against_what() -> None:
    state = fresh(CONFIG, turn=4, tokens_used=1_000, next_request=200, now=12.3456, error_streak=1)
    found = {check.rule: check for check in checks(state)}
    assert found["max_iterations"] == Check("max_iterations", 4, 10, fired=False)
    assert found["token_budget"] == Check("token_budget", 1_200, 10_000, fired=False)
    assert found["timeout"] == Check("timeout", 12.346, 85.0, fired=False)
    assert found["error_limit"] == Check("error_limit", 1, 3, fired=False)


def test_no_tree_can_switch_off_cancellation_turns_tokens_and_time() -> None:
    assert {"user_cancelled", "max_iterations", "token_budget", "timeout"} <= ENFORCED


def test_a_tree_may_go_on_after_an_answer() -> None:
    assert "completed" not in ENFORCED


# -- warnings -------------------------------------------------------------------------------------


def test_a_fresh_run_is_not_warned() -> None:
    assert due_warnings(fresh(CONFIG)) == []


@pytest.mark.parametrize(
    ("turns", "warned_at"),
    [(1, []), (2, [1]), (3, [1, 2]), (4, [2, 3]), (10, [7, 8, 9]), (15, [11, 12, 13, 14])],
)
def test_the_iteration_warning_is_due_from_its_turn_to_the_last(
    turns: int, warned_at: list[int]
) -> None:
    config = limits(max_iterations=turns)
    due = [n for n in range(turns + 1) if "iterations" in keys(fresh(config, turn=n))]
    assert due == warned_at


def test_the_iteration_warning_reads_as_specified() -> None:
    notice = only(due_warnings(fresh(CONFIG, turn=7)), "iterations")
    assert notice.message == "Approaching iteration limit (7/10). Consider wrapping up."
    assert notice.hint == notice.message
    assert notice.system_type == "limit_warning"
    assert notice.metadata == {
        "limit_type": "iterations",
        "current_value": 7,
        "limit_value": 10,
        "percent": 70.0,
    }


def test_with_two_turns_only_the_user_is_warned() -> None:
    notice = only(due_warnings(fresh(limits(max_iterations=2), turn=1)), "iterations")
    assert notice.message
    assert notice.hint == ""


@pytest.mark.parametrize(
    ("state", "due"),
    [
        ({"tokens_used": 7_999}, False),
        ({"tokens_used": 8_000}, True),
        ({"tokens_used": 3_000, "next_request": 7_000}, False),
        ({"tokens_used": 3_000, "next_request": 7_001}, True),
    ],
    ids=str,
)
def test_the_token_warning_is_due_by_percent_or_forecast(state: dict[str, Any], due: bool) -> None:
    assert ("tokens" in keys(fresh(CONFIG, **state))) is due


@pytest.mark.parametrize(("seconds", "due"), [(79.999, False), (80.0, True)])
def test_the_time_warning_is_due_at_eighty_percent(seconds: float, due: bool) -> None:
    assert ("time" in keys(fresh(CONFIG, now=seconds))) is due


@pytest.mark.parametrize(("tokens", "due"), [(5_599, False), (5_600, True)])
def test_the_context_warning_is_due_at_seventy_percent(tokens: int, due: bool) -> None:
    state = fresh(CONFIG, context_tokens=tokens, context_window=8_000)
    assert ("context" in keys(state)) is due


@pytest.mark.parametrize(
    ("key", "state"),
    [
        ("iterations", {"turn": 8}),
        ("tokens", {"tokens_used": 9_000}),
        ("time", {"now": 81.0}),
        ("context", {"context_tokens": 6_000, "context_window": 8_000}),
    ],
)
def test_every_warning_has_its_numbers_and_its_advice(key: str, state: dict[str, Any]) -> None:
    notice = only(due_warnings(fresh(CONFIG, **state)), key)
    numbers = notice.metadata
    assert {"current_value", "limit_value", "percent", "limit_type"} <= set(numbers)
    wanted = 100 * numbers["current_value"] / numbers["limit_value"]
    assert numbers["percent"] == pytest.approx(wanted, abs=0.05)
    assert "Consider wrapping up" in notice.message
    assert notice.hint == notice.message
    assert notice.severity == "warning"


def test_a_warning_is_given_once() -> None:
    state = fresh(CONFIG, turn=8, tokens_used=9_000, now=81.0)
    once = with_due_warnings(state)
    assert [n.key for n in once.notices] == ["iterations", "tokens", "time"]
    assert with_due_warnings(once) == once
    given_before = replace(state, fired=frozenset({"iterations", "tokens", "time"}))
    assert with_due_warnings(given_before).notices == ()


def test_what_was_told_is_neither_due_nor_waiting_any_more() -> None:
    mine = Notice(key="mine", system_type="notification")
    state = told(with_due_warnings(fresh(CONFIG, turn=8, tokens_used=9_000)).with_notice(mine))
    assert (state.notices, set(state.fired)) == ((), {"iterations", "tokens", "mine"})
    assert due_warnings(state) == []
    assert told(state) is state


def test_a_warning_that_a_tree_made_up_is_not_told() -> None:
    made_up = Notice(key="tokens", system_type="notification")
    assert told(fresh(CONFIG).with_notice(made_up)).fired == frozenset()


# -- repetition -----------------------------------------------------------------------------------


def test_the_second_identical_turn_gives_the_model_a_hint_first() -> None:
    once, twice = tracked(Step("a", "r")), tracked(*[Step("a", "r")] * 2)
    assert keys(fresh(CONFIG, track=once)) == []
    (notice,) = due_warnings(fresh(CONFIG, track=twice))
    assert notice.hint
    assert notice.message == ""


@pytest.mark.parametrize(("identical", "ends"), [(3, True), (5, False), (0, False)])
def test_the_hint_threatens_only_with_what_will_happen(identical: int, ends: bool) -> None:
    twice = tracked(*[Step("a", "r")] * 2, rules=StuckRules(identical=identical))
    (notice,) = due_warnings(fresh(CONFIG, track=twice))
    assert ("once more will end the run" in notice.hint) is ends


def test_polling_gets_no_hint() -> None:
    assert keys(fresh(CONFIG, track=tracked(Step("a", "1"), Step("a", "2")))) == []


@pytest.mark.parametrize(
    ("actions", "due"),
    [("aba", False), ("abaca", True), ("abcdaa", True), ("abbcda", False), ("axxxxxa", False)],
)
def test_the_same_action_three_times_within_six_turns_is_told(actions: str, due: bool) -> None:
    steps = [Step(action, str(number)) for number, action in enumerate(actions)]
    state = fresh(CONFIG, track=tracked(*steps))
    wanted = actions[-6:].count(actions[-1]) >= 3
    assert wanted is due
    assert ("loop" in keys(state)) is due


def test_the_loop_notice_names_the_action_and_the_event() -> None:
    track = tracked(*[Step("look:{}", str(n)) for n in range(3)])
    notice = only(due_warnings(fresh(CONFIG, track=track)), "loop")
    assert notice.system_type == "loop_warning"
    assert "look:{}" in notice.message
    assert notice.metadata["event"] == "agent.loop.detected"
    assert notice.metadata["action"] == "look:{}"
    assert (notice.metadata["current_value"], notice.metadata["limit_value"]) == (3, 3)


def test_a_stuck_run_is_told_by_its_end_and_not_by_a_warning() -> None:
    assert keys(fresh(CONFIG, track=STUCK)) == []


# -- notices of limits ----------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [r for r in ORDER if REASONS.get(r).outcome == "limited"])
def test_every_limit_has_a_notice_with_severity_and_type(rule: str) -> None:
    state = fresh(CONFIG, **FIRING[rule])
    notice = limit_notice(rule, state)
    wanted = rule if rule in ("no_progress", "error_limit") else "limit_reached"
    assert notice.system_type == wanted
    assert notice.severity == "warning"
    assert notice.message
    assert "limit_type" in notice.metadata


@pytest.mark.parametrize(
    ("rule", "value", "limit"),
    [
        ("max_iterations", 10, 10),
        ("token_budget", 10_000, 10_000),
        ("timeout", 85.0, 100.0),
        ("no_progress", 3, 3),
        ("error_limit", 3, 3),
    ],
)
def test_a_limit_notice_has_its_numbers(rule: str, value: float, limit: float) -> None:
    metadata = limit_notice(rule, fresh(CONFIG, **FIRING[rule])).metadata
    assert (metadata["current_value"], metadata["limit_value"]) == (value, limit)


def test_the_no_progress_notice_shows_the_repeated_action_and_the_rule() -> None:
    notice = limit_notice("no_progress", fresh(CONFIG, track=STUCK))
    assert "look:{}" in notice.message
    assert notice.metadata["rule"] == "identical"
    assert notice.metadata["action"] == "look:{}"


def test_the_no_progress_notice_follows_other_rules() -> None:
    track = tracked(*[Step("a", "r")] * 7, rules=StuckRules(identical=7, known=0))
    metadata = limit_notice("no_progress", fresh(CONFIG, track=track)).metadata
    assert (metadata["current_value"], metadata["limit_value"]) == (7, 7)


@pytest.mark.parametrize(
    ("steps", "rule", "limit"),
    [
        ([Step("a", "r", "r")] * 4, "identical", 3),
        ([Step("a", str(n), str(n), writes=True) for n in range(6)], "writing", 4),
        ([Step("ab"[n % 2], "r", "r") for n in range(9)], "cycle", 5),
    ],
)
def test_the_no_progress_limit_is_the_rules_own(steps: list[Step], rule: str, limit: int) -> None:
    """Also when a tree let the run go on for longer than the rule wants."""
    track = tracked(*steps)
    assert track.stuck == rule
    metadata = limit_notice("no_progress", fresh(CONFIG, track=track)).metadata
    assert metadata["current_value"] >= limit
    assert metadata["limit_value"] == limit


@pytest.mark.parametrize("rule", ["no_progress", "error_limit"])
def test_a_tree_may_give_these_reasons_on_its_own_grounds(rule: str) -> None:
    message = limit_notice(rule, fresh(CONFIG)).message
    assert " 0 turns" not in message
    assert "at last ." not in message


def test_a_full_context_is_told_from_a_spent_budget() -> None:
    full = limit_notice("token_budget", fresh(CONFIG, context_tokens=8_000, context_window=8_000))
    assert "context is full (8,000/8,000" in full.message
    spent = limit_notice("token_budget", fresh(CONFIG, tokens_used=10_000))
    assert "Token limit reached (10,000/10,000)" in spent.message
    forecast = limit_notice("token_budget", fresh(CONFIG, tokens_used=5_000, next_request=6_000))
    assert "would not fit" in forecast.message


@pytest.mark.parametrize(("length", "shown"), [(120, 120), (121, 120), (5_000, 120)])
def test_long_actions_are_shortened(length: int, shown: int) -> None:
    assert len(shortened("x" * length)) == shown
