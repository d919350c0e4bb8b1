"""When a run ends, and when it is warned before."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.core.chunks import Check
from agents.core.decisions.endings import END_CONDITIONS, find_end_reason, measure_conditions
from agents.core.decisions.notices import limit_notice, wrap_up_notice
from agents.core.decisions.trees.default import DefaultDecisionTree
from agents.core.decisions.warnings import add_due_warnings, due_warnings, mark_notices_given
from agents.core.reasons import REASONS
from agents.core.sanitize import truncate
from agents.core.state import AgentState, Notice
from agents.core.stuck import (
    DEFAULT_STUCK_RULES,
    ProgressTracker,
    StuckRules,
    TurnAction,
    detect_no_progress,
)
from agents.core.tokens import MIN_ANSWER_TOKENS
from tests.agents.core.factories import fresh, limits

CONFIG = limits(max_iterations=10, token_budget=10_000, timeout_seconds=100)


def tracked(*steps: TurnAction, rules: StuckRules = DEFAULT_STUCK_RULES) -> ProgressTracker:
    track = ProgressTracker(rules=rules)
    for step in steps:
        track = track.with_step(step)
    return track


STUCK = tracked(*[TurnAction("look:{}", "r", "r")] * 3)

# What makes each end condition fire, in order of precedence.
FIRING: dict[str, dict[str, Any]] = {
    "user_cancelled": {"cancelled": True},
    "completed": {"finish_reason": "stop"},
    "max_iterations": {"turn": 10},
    "token_budget": {"tokens_used": 10_000},
    "timeout": {"now": 85.0},
    "no_progress": {"progress": STUCK},
    "error_limit": {"error_streak": 3},
    "output_truncated": {"finish_reason": "length"},
    "content_filter": {"finish_reason": "content_filter"},
    "empty_answer": {"empty_answers": 2},
}
ORDER = list(FIRING)
ENFORCED = {condition.name for condition in END_CONDITIONS if condition.enforced}


def fired(state: AgentState) -> list[str]:
    return [check.rule for check in measure_conditions(state) if check.fired]


def decided(state: AgentState) -> tuple[bool, str]:
    return DefaultDecisionTree(state.config).should_continue(state)


def keys(state: AgentState) -> list[str]:
    return [notice.key for notice in due_warnings(state)]


def only(found: list[Notice], key: str) -> Notice:
    (notice,) = [n for n in found if n.key == key]
    return notice


# -- what fires -----------------------------------------------------------------------------------


@given(st.sets(st.sampled_from(ORDER)))
def test_the_first_condition_that_fires_is_the_first_of_the_checks(names: set[str]) -> None:
    state = fresh(CONFIG, **{k: v for name in names for k, v in FIRING[name].items()})
    assert find_end_reason(state) == next(iter(fired(state)), None)
    hard = [name for name in fired(state) if name in ENFORCED]
    assert find_end_reason(state, enforced=True) == next(iter(hard), None)


def test_a_fresh_run_goes_on() -> None:
    assert fired(fresh(CONFIG)) == []
    assert decided(fresh(CONFIG)) == (True, "")


def test_every_condition_is_measured_in_order_even_when_none_fires() -> None:
    assert [check.rule for check in measure_conditions(fresh(CONFIG))] == ORDER


@pytest.mark.parametrize("name", ORDER)
def test_each_condition_fires_alone(name: str) -> None:
    state = fresh(CONFIG, **FIRING[name])
    assert fired(state) == [name]
    assert decided(state) == (False, name)


@pytest.mark.parametrize(
    "almost",
    [
        {"turn": 9},
        {"tokens_used": 9_999},
        {"tokens_used": 4_000, "next_request": 6_000},
        {"now": 84.999},
        {"progress": tracked(*[TurnAction("look:{}", "r", "r")] * 2)},
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
def test_the_first_condition_that_holds_wins(holding: set[str]) -> None:
    ends = holding & {"completed", "output_truncated", "content_filter"}
    if len(ends) > 1:  # an answer ends in one way
        holding -= ends - {min(ends)}
    state = fresh(CONFIG)
    for name in holding:
        state = replace(state, **FIRING[name])
    assert fired(state) == [name for name in ORDER if name in holding]
    assert decided(state) == (False, min(holding, key=ORDER.index))


@pytest.mark.parametrize(
    "spent",
    [
        {"tokens_used": 10_000},
        {"tokens_used": 12_000},
        {"tokens_used": 4_000, "next_request": 6_001},
        {"finish_reason": "budget"},
        {"context_tokens": 8_001 - MIN_ANSWER_TOKENS, "context_window": 8_000},
    ],
    ids=str,
)
def test_the_budget_is_spent_or_the_next_request_does_not_fit(spent: dict[str, Any]) -> None:
    assert fired(fresh(CONFIG, **spent)) == ["token_budget"]


def test_a_window_that_is_just_large_enough_does_not_end_a_run() -> None:
    assert (
        fired(fresh(CONFIG, context_tokens=8_000 - MIN_ANSWER_TOKENS, context_window=8_000)) == []
    )


def test_an_answer_on_the_wrap_up_turn_is_not_a_completion() -> None:
    state = fresh(CONFIG, finish_reason="stop", wrap_up_reason="timeout")
    assert "completed" not in fired(state)


def test_a_plan_is_not_a_completion() -> None:
    assert find_end_reason(fresh(CONFIG, finish_reason="stop", interim="Plan")) is None


def test_what_a_behaviour_asks_for_is_among_what_was_measured() -> None:
    found = measure_conditions(fresh(CONFIG, asked_end="no_progress"))
    assert found[-1] == Check("behaviour_ended", "no_progress", None, fired=True)


def test_a_smaller_share_of_tokens_is_the_limit() -> None:
    assert fired(fresh(CONFIG, token_limit=500, tokens_used=500)) == ["token_budget"]


def test_checks_show_what_was_measured_against_what() -> None:
    state = fresh(CONFIG, turn=4, tokens_used=1_000, next_request=200, now=12.3456, error_streak=1)
    found = {check.rule: check for check in measure_conditions(state)}
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
    [(1, []), (2, []), (3, [1, 2]), (4, [2, 3]), (10, [7, 8, 9]), (15, [11, 12, 13, 14])],
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
        "phase": "approach",
    }


@pytest.mark.parametrize(
    ("state", "due"),
    [
        ({"tokens_used": 7_999}, False),
        ({"tokens_used": 8_000}, True),
        ({"tokens_used": 3_000, "two_requests": 7_000}, False),
        ({"tokens_used": 3_000, "two_requests": 7_001}, True),
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
    assert numbers["phase"] == "approach"


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"tokens_used": 0, "next_request": 10_001}, "The prompt alone leaves the token budget no"),
        (
            {"turn": 1, "tokens_used": 11_000},
            "One iteration used the rest of the token",
        ),
        ({"turn": 1, "tokens_used": 9_500, "finish_reason": "budget"}, "One answer took what the"),
    ],
    ids=str,
)
def test_a_budget_crossed_at_once_is_not_said_to_be_approached(
    state: dict[str, Any], words: str
) -> None:
    notice = only(due_warnings(fresh(CONFIG, **{"two_requests": 10_001, **state})), "tokens")
    assert notice.message.startswith(words)
    assert "Approaching" not in notice.message
    assert notice.metadata["at_once"] is True


def test_a_warning_is_given_once() -> None:
    state = fresh(CONFIG, turn=8, tokens_used=9_000, now=81.0)
    once = add_due_warnings(state)
    assert [n.key for n in once.notices] == ["iterations", "tokens", "time"]
    assert add_due_warnings(once) == once
    given_before = replace(state, fired=frozenset({"iterations", "tokens", "time"}))
    assert add_due_warnings(given_before).notices == ()


def test_what_was_told_is_neither_due_nor_waiting_any_more() -> None:
    mine = Notice(key="mine", system_type="notification")
    state = mark_notices_given(
        add_due_warnings(fresh(CONFIG, turn=8, tokens_used=9_000)).with_notice(mine)
    )
    assert (state.notices, set(state.fired)) == ((), {"iterations", "tokens", "mine"})
    assert due_warnings(state) == []
    assert mark_notices_given(state) is state


def test_a_warning_that_a_tree_made_up_is_not_told() -> None:
    made_up = Notice(key="tokens", system_type="notification")
    assert mark_notices_given(fresh(CONFIG).with_notice(made_up)).fired == frozenset()


# -- repetition -----------------------------------------------------------------------------------


def test_the_second_identical_turn_gives_the_model_a_hint_first() -> None:
    once, twice = tracked(TurnAction("a", "r")), tracked(*[TurnAction("a", "r")] * 2)
    assert keys(fresh(CONFIG, progress=once)) == []
    (notice,) = due_warnings(fresh(CONFIG, progress=twice))
    assert notice.hint
    assert notice.message == ""


@pytest.mark.parametrize(("identical", "ends"), [(3, True), (5, False), (0, False)])
def test_the_hint_threatens_only_with_what_will_happen(identical: int, ends: bool) -> None:
    twice = tracked(*[TurnAction("a", "r")] * 2, rules=StuckRules(identical=identical))
    (notice,) = due_warnings(fresh(CONFIG, progress=twice))
    assert ("once more will end the run" in notice.hint) is ends


def test_polling_gets_no_hint() -> None:
    assert keys(fresh(CONFIG, progress=tracked(TurnAction("a", "1"), TurnAction("a", "2")))) == []


@pytest.mark.parametrize(
    ("actions", "due"),
    [("aba", False), ("abaca", True), ("abcdaa", True), ("abbcda", False), ("axxxxxa", False)],
)
def test_the_same_action_three_times_within_six_turns_is_told(actions: str, due: bool) -> None:
    steps = [TurnAction(action, str(number)) for number, action in enumerate(actions)]
    state = fresh(CONFIG, progress=tracked(*steps))
    wanted = actions[-6:].count(actions[-1]) >= 3
    assert wanted is due
    assert ("loop" in keys(state)) is due


def test_the_loop_notice_names_the_action() -> None:
    track = tracked(*[TurnAction("look:{}", str(n)) for n in range(3)])
    notice = only(due_warnings(fresh(CONFIG, progress=track)), "loop")
    assert notice.system_type == "loop_warning"
    assert "look:{}" in notice.message
    assert "3 times in the last 6 iterations (a loop from 3 on)" in notice.message
    assert "3 times" in notice.hint
    assert "event" not in notice.metadata  # that was recorded before the batch
    assert notice.metadata["action"] == "look:{}"
    assert (notice.metadata["current_value"], notice.metadata["limit_value"]) == (3, 3)


def test_a_stuck_run_is_told_by_its_end_and_not_by_a_warning() -> None:
    assert keys(fresh(CONFIG, progress=STUCK)) == []


# -- notices of limits ----------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [r for r in ORDER if REASONS.get(r).outcome == "limited"])
def test_every_limit_has_a_notice_with_severity_and_type(rule: str) -> None:
    state = fresh(CONFIG, **FIRING[rule])
    notice = limit_notice(rule, state)
    wanted = rule if rule in ("no_progress", "error_limit") else "limit_reached"
    assert notice.system_type == wanted
    assert notice.severity == "error"
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
    notice = limit_notice("no_progress", fresh(CONFIG, progress=STUCK))
    assert "look:{}" in notice.message
    assert notice.metadata["rule"] == "identical"
    assert notice.metadata["action"] == "look:{}"


def test_the_no_progress_notice_follows_other_rules() -> None:
    track = tracked(*[TurnAction("a", "r")] * 7, rules=StuckRules(identical=7, known=0))
    metadata = limit_notice("no_progress", fresh(CONFIG, progress=track)).metadata
    assert (metadata["current_value"], metadata["limit_value"]) == (7, 7)


@pytest.mark.parametrize(
    ("steps", "rule", "limit"),
    [
        ([TurnAction("a", "r", "r")] * 4, "identical", 3),
        ([TurnAction("a", str(n), str(n), writes=True) for n in range(6)], "writing", 4),
        ([TurnAction("ab"[n % 2], "r", "r") for n in range(9)], "cycle", 5),
    ],
)
def test_the_no_progress_limit_is_the_rules_own(
    steps: list[TurnAction], rule: str, limit: int
) -> None:
    """Also when a tree let the run go on for longer than the rule wants."""
    track = tracked(*steps)
    assert track.stuck_rule == rule
    metadata = limit_notice("no_progress", fresh(CONFIG, progress=track)).metadata
    assert metadata["current_value"] >= limit
    assert metadata["limit_value"] == limit


@pytest.mark.parametrize("rule", ["no_progress", "error_limit"])
def test_a_tree_may_give_these_reasons_on_its_own_grounds(rule: str) -> None:
    message = limit_notice(rule, fresh(CONFIG)).message
    assert " 0 " not in message
    assert "was ." not in message


def test_a_full_context_is_told_from_a_spent_budget() -> None:
    full = limit_notice("token_budget", fresh(CONFIG, context_tokens=8_000, context_window=8_000))
    assert "context is full (8,000/8,000" in full.message
    spent = limit_notice("token_budget", fresh(CONFIG, tokens_used=10_000))
    assert "Token limit reached (10,000/10,000)" in spent.message
    forecast = limit_notice("token_budget", fresh(CONFIG, tokens_used=5_000, next_request=6_000))
    assert forecast.message.startswith(
        "The token budget has no room for another iteration: 5,000 of 10,000 tokens are left; "
        "another iteration and the answer need about 6,000."
    )


@pytest.mark.parametrize(
    ("rule", "state", "words"),
    [
        ("max_iterations", {"turn": 10}, "Maximum iterations reached. 10/10 used."),
        (
            "timeout",
            {"now": 85.04},
            "The time for work is over: 85/100 s used, and no other iteration fits.",
        ),
        ("timeout", {"now": 100.2}, "Time limit reached (100.2/100 s)."),
        (
            "no_progress",
            {"progress": STUCK},
            "No progress detected - same action attempted 3 times. The limit is 3; the last "
            "action was look:{}. Rephrase the question",
        ),
        (
            "no_progress",
            {
                "progress": tracked(
                    *[TurnAction("a", str(n), str(n), writes=True) for n in range(4)]
                )
            },
            "No progress detected - same action attempted 4 times. The limit is 4;",
        ),
        (
            "no_progress",
            {"progress": tracked(*[TurnAction("ab"[n % 2], "r", "r") for n in range(7)])},
            "No progress detected - the last 5 iterations repeated earlier ones. The limit is 5;",
        ),
        (
            "error_limit",
            {"error_streak": 4},
            "Tools failed 4 times in a row (limit 3). See the errors, correct what they name,",
        ),
        ("error_limit", {"error_streak": 1}, "Tools failed 1 time in a row (limit 3)."),
    ],
)
def test_a_limit_reads_as_the_documents_have_it(
    rule: str, state: dict[str, Any], words: str
) -> None:
    assert limit_notice(rule, fresh(CONFIG, **state)).message.startswith(words)


@pytest.mark.parametrize("results", ["rrr", "rst", "rrs"])
def test_the_default_tree_ends_three_equal_calls_where_their_results_are_equal(
    results: str,
) -> None:
    track = tracked(*(TurnAction("look:{}", result) for result in results))
    state = fresh(CONFIG, turn=3, recent_actions=("look:{}",) * 3, progress=track)
    assert detect_no_progress(state.recent_actions)
    expected = (False, "no_progress") if results == "rrr" else (True, "")
    assert DefaultDecisionTree(CONFIG).should_continue(state) == expected


def test_three_identical_calls_of_one_batch_are_no_loop() -> None:
    track = tracked(TurnAction("look:{} | look:{} | look:{}", "r"))
    state = fresh(CONFIG, turn=1, recent_actions=("look:{}",) * 3, progress=track)
    assert DefaultDecisionTree(CONFIG).should_continue(state) == (True, "")


@pytest.mark.parametrize(("identical", "goes_on"), [(2, False), (3, False), (4, True), (0, True)])
def test_the_configured_number_of_repeats_decides(identical: int, goes_on: bool) -> None:
    rules = StuckRules(identical=identical)
    track = tracked(*[TurnAction("look:{}", "r")] * 3, rules=rules)
    state = fresh(CONFIG, turn=3, recent_actions=("look:{}",) * 3, progress=track)
    assert DefaultDecisionTree(CONFIG).should_continue(state)[0] is goes_on


ADVICE = "Raise the limit for longer work."


@pytest.mark.parametrize(
    ("rule", "state", "message", "value"),
    [
        (
            "max_iterations",
            {"turn": 9},
            "Last iteration (10/10): answering now. " + ADVICE,
            10,
        ),
        (
            "token_budget",
            {"tokens_used": 9_100, "next_request": 950},
            "Token budget nearly used (9,100/10,000): answering now. " + ADVICE,
            9_100,
        ),
        (
            "token_budget",
            {"tokens_used": 0, "next_request": 10_500},
            "The token budget has no room for another iteration (0/10,000; it and the answer "
            "need about 10,500): answering now. " + ADVICE,
            0,
        ),
        (
            "token_budget",
            {"context_tokens": 7_950, "context_window": 8_000},
            "The model's context is nearly full (7,950/8,000 tokens): answering now. "
            "A new conversation starts empty.",
            7_950,
        ),
        (
            "timeout",
            {"now": 86.0},
            "Time nearly used (86/100 s): answering now. " + ADVICE,
            86.0,
        ),
    ],
)
def test_a_last_answer_is_announced_as_a_warning(
    rule: str, state: dict[str, Any], message: str, value: float
) -> None:
    notice = wrap_up_notice(rule, fresh(CONFIG, **state))
    assert (notice.message, notice.hint, notice.severity) == (message, "", "warning")
    assert notice.system_type == "limit_warning"
    assert (notice.metadata["phase"], notice.metadata["current_value"]) == ("wrap_up", value)


@pytest.mark.parametrize(("length", "shown"), [(120, 120), (121, 120), (5_000, 120)])
def test_long_actions_are_shortened(length: int, shown: int) -> None:
    assert len(truncate("x" * length)) == shown
