"""A tree that fails or lies costs the run nothing."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from agents.core.decisions.guard import LOOP_OWNED_FIELDS, TREE_OWNED_FIELDS, TreeGuard
from agents.core.decisions.trees.default import DefaultDecisionTree
from agents.core.decisions.trees.quick import QuickTree
from agents.core.state import AgentState, Notice, RuleStop
from agents.core.stuck import ProgressTracker, TurnAction
from tests.agents.core.factories import fresh, limits, values_of

CONFIG = limits(max_iterations=10)


class Scripted(DefaultDecisionTree):
    """A tree whose methods can be replaced one by one."""

    def __init__(self, **methods: Callable[..., Any]) -> None:
        super().__init__(CONFIG)
        for name, method in methods.items():
            setattr(self, name, method)


def broken(*_: Any) -> Any:
    raise RuntimeError("broken")


def guarded(config: Any = CONFIG, **methods: Callable[..., Any]) -> TreeGuard:
    return TreeGuard(Scripted(**methods), config)


RESULT: dict[str, Any] = {"name": "look", "arguments": {"at": 1}, "ok": True}
CALLED = 'look:{"at":1}'
"""The same as an action."""
CALLS: dict[str, Callable[[TreeGuard, AgentState], Any]] = {
    "should_continue": lambda guard, state: guard.should_continue(state),
    "on_turn_start": lambda guard, state: guard.on_turn_start(state),
    "on_tool_result": lambda guard, state: guard.on_tool_result(state, RESULT),
}


def truth_after(method: str, state: AgentState) -> AgentState:
    """What a tree's method leaves of the facts: a result puts its call into the history."""
    return state.with_action(CALLED) if method == "on_tool_result" else state


def failure(guard: TreeGuard) -> Notice | None:
    """The one report there is, or none."""
    reports = guard.pop_reports()
    assert len(reports) <= 1
    return reports[0] if reports else None


# -- a tree that behaves --------------------------------------------------------------------------


def test_a_tree_that_behaves_is_believed() -> None:
    guard = guarded(should_continue=lambda state: (False, "timeout"))
    assert guard.should_continue(fresh(CONFIG)) == (False, "timeout")
    assert guard.name == "Scripted"
    assert failure(guard) is None


def test_a_reason_to_go_on_is_ignored() -> None:
    guard = guarded(should_continue=lambda state: (True, "whatever"))
    assert guard.should_continue(fresh(CONFIG)) == (True, "")


def test_the_effective_configuration_is_what_both_allow() -> None:
    wanted = limits(max_iterations=4, timeout_seconds=600, soft_warning_percent=50)
    guard = guarded(limits(timeout_seconds=30, soft_warning_percent=90), get_config=lambda: wanted)
    assert guard.config == limits(max_iterations=4, timeout_seconds=30, soft_warning_percent=50)


def test_what_a_tree_owns_is_kept() -> None:
    notice = Notice(key="k", system_type="notification")

    def on_turn_start(state: AgentState) -> AgentState:
        state = replace(state, withheld_tools=frozenset({"look"}))
        return state.with_notice(notice).with_extension("mine", 1)

    state = guarded(on_turn_start=on_turn_start).on_turn_start(fresh(CONFIG))
    assert state.notices == (notice,)
    assert state.withheld_tools == {"look"}
    assert state.extensions == {"mine": 1}


@dataclass(frozen=True, kw_only=True)
class Reflective(AgentState):
    passes: int = 0


def test_a_trees_own_fields_are_kept_and_facts_put_right_in_a_subclass() -> None:
    state = Reflective(user_id="ada", project_id="engine", config=CONFIG, turn=3)
    guard = guarded(on_turn_start=lambda s: replace(s, passes=s.passes + 1, turn=0))
    after = guard.on_turn_start(state)
    assert isinstance(after, Reflective)
    assert (after.passes, after.turn) == (1, 3)


def test_a_method_of_a_trees_own_is_told_from_the_default_ones() -> None:
    guard = guarded(on_tool_result=lambda state, result: state)
    assert guard.overrides("on_tool_result")
    assert not guard.overrides("on_turn_start")
    assert not TreeGuard(QuickTree(CONFIG), CONFIG).overrides("on_tool_result")


# -- a tree that raises ---------------------------------------------------------------------------


@pytest.mark.parametrize("method", CALLS)
def test_a_tree_that_raises_is_replaced_by_the_default_one(method: str) -> None:
    guard = guarded(**{method: broken})
    state = fresh(CONFIG)
    answer = CALLS[method](guard, state)
    wanted = truth_after(method, state)
    assert answer == ((True, "") if method == "should_continue" else wanted)
    assert guard.name == "default"
    cancelled = replace(state, cancelled=True)
    assert guard.should_continue(cancelled) == (False, "user_cancelled")


def test_when_the_question_fails_the_default_tree_answers_it() -> None:
    guard = guarded(should_continue=broken)
    assert guard.should_continue(fresh(CONFIG, cancelled=True)) == (False, "user_cancelled")


def test_a_tree_that_raises_in_get_config_gets_the_users() -> None:
    guard = guarded(get_config=broken)
    assert guard.config == CONFIG
    assert guard.name == "default"


@pytest.mark.parametrize("method", [*CALLS, "get_config"])
def test_a_failure_is_told_once_with_tree_method_and_error(method: str) -> None:
    guard = guarded(**{method: broken})
    if method in CALLS:
        CALLS[method](guard, fresh(CONFIG))
    notice = failure(guard)
    assert notice is not None
    assert f"Scripted.{method}: RuntimeError" in notice.message
    assert notice.system_type == "notification"
    assert "broken" not in notice.message
    assert failure(guard) is None


def test_a_failure_is_logged_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        guarded(on_turn_start=broken).on_turn_start(fresh(CONFIG))
    (record,) = caplog.records
    assert record.exc_info is not None
    assert "Scripted" in record.getMessage()


# -- a tree that returns nonsense -----------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [None, True, "no", (), (True,), [True, ""], (False, "bored"), (False, None), (False, [])],
    ids=repr,
)
def test_an_answer_that_is_none_is_replaced(answer: Any) -> None:
    guard = guarded(should_continue=lambda state: answer)
    assert guard.should_continue(fresh(CONFIG)) == (True, "")
    assert failure(guard) is not None


@pytest.mark.parametrize("method", ["on_turn_start", "on_tool_result"])
@pytest.mark.parametrize("answer", [None, "state", {}, 3], ids=repr)
def test_a_state_that_is_none_is_replaced_by_the_one_before(method: str, answer: Any) -> None:
    guard = guarded(**{method: lambda *_: answer})
    state = fresh(CONFIG)
    assert CALLS[method](guard, state) == truth_after(method, state)
    assert failure(guard) is not None


@pytest.mark.parametrize("answer", [None, {}, "quick"], ids=repr)
def test_a_configuration_that_is_none_is_replaced(answer: Any) -> None:
    guard = guarded(get_config=lambda: answer)
    assert guard.config == CONFIG
    assert failure(guard) is not None


@pytest.mark.parametrize(
    "unchecked", [{"max_iterations": 0}, {"max_iterations": "few"}, {"token_budget": 10}], ids=str
)
def test_a_configuration_out_of_bounds_is_a_failure_of_the_tree(unchecked: dict[str, Any]) -> None:
    """`model_copy` does not validate, and it is what the shipped trees use."""
    guard = guarded(get_config=lambda: CONFIG.model_copy(update=unchecked))
    assert guard.config == CONFIG
    assert failure(guard) is not None


@pytest.mark.parametrize(
    "owned",
    [
        {"notices": ("hello",)},
        {"notices": None},
        {"withheld_tools": None},
        {"withheld_tools": 3},
    ],
    ids=str,
)
def test_what_a_tree_owns_must_have_its_type(owned: dict[str, Any]) -> None:
    guard = guarded(on_turn_start=lambda state: replace(state, **owned))
    state = fresh(CONFIG)
    assert guard.on_turn_start(state) == state
    assert failure(guard) is not None


# -- a tree that lies -----------------------------------------------------------------------------

TRUTH = replace(
    fresh(CONFIG),
    turn=4,
    tokens_used=900,
    start_time=10.0,
    now=50.0,
    cancelled=True,
    error_streak=2,
    recent_actions=("a",),
    fired=frozenset({"tokens"}),
    progress=ProgressTracker().with_step(TurnAction("a", "r")),
    finish_reason="tool_calls",
    next_request=77,
)
LIES: dict[str, Any] = {
    "user_id": "eve",
    "project_id": "other",
    "config": limits(max_iterations=50, token_budget=200_000),
    "turn": 0,
    "tokens_used": 0,
    "usage_source": "provider",
    "start_time": 49.0,
    "now": 51.0,
    "cancelled": False,
    "finish_reason": "stop",
    "recent_actions": (),
    "progress": ProgressTracker(),
    "error_streak": 0,
    "empty_answers": 7,
    "held_calls": 7,
    "interim": "Plan",
    "wrap_up_reason": "timeout",
    "termination_reason": "completed",
    "rule_stop": RuleStop("own:mine"),
    "asked_end": "behaviour_ended",
    "has_branches": True,
    "token_limit": 10**9,
    "time_limit": 10.0**9,
    "next_request": 0,
    "two_requests": 1,
    "context_tokens": 1,
    "context_window": 10**9,
    "fired": frozenset(),
}


def test_every_fact_is_tried() -> None:
    assert set(LIES) == set(LOOP_OWNED_FIELDS)
    assert set(LOOP_OWNED_FIELDS) | TREE_OWNED_FIELDS == set(values_of(TRUTH))


@pytest.mark.parametrize("method", ["on_turn_start", "on_tool_result"])
@pytest.mark.parametrize("fact", LIES)
def test_a_tree_cannot_change_what_happened(method: str, fact: str) -> None:
    lie = {fact: LIES[fact]}
    assert getattr(TRUTH, fact) != LIES[fact]

    def method_(state: AgentState, result: Mapping[str, Any] | None = None) -> AgentState:
        return replace(state, **lie).with_extension("mine", 1)

    guard = guarded(**{method: method_})
    after = CALLS[method](guard, TRUTH)
    assert values_of(after, TREE_OWNED_FIELDS) == values_of(
        truth_after(method, TRUTH), TREE_OWNED_FIELDS
    )
    assert after.extensions == {"mine": 1}
    report = failure(guard)
    assert report is not None
    assert report.metadata["corrected"] == [fact]


def test_all_the_lies_at_once_are_put_right() -> None:
    guard = guarded(on_turn_start=lambda state: replace(state, **LIES))
    assert guard.on_turn_start(TRUTH) == TRUTH


def test_what_is_put_right_is_reported_once_in_the_record_and_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    guard = guarded(on_turn_start=lambda state: replace(state, turn=0, tokens_used=1))
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            guard.on_turn_start(TRUTH)
    report = failure(guard)
    assert report is not None
    assert report.message == (
        "The decision tree Scripted changed what it does not own (turn, tokens_used); "
        "it was restored."
    )
    assert len(caplog.records) == 2  # one for each fact
    guard.on_turn_start(TRUTH)
    assert failure(guard) is None


# -- a tree that stops the run, or keeps its history ----------------------------------------------


@pytest.mark.parametrize("method", ["on_turn_start", "on_tool_result"])
@pytest.mark.parametrize("reason", ["no_progress", "timeout", "internal_error"])
def test_a_tree_may_set_a_reason_to_stop(method: str, reason: str) -> None:
    guard = guarded(**{method: lambda state, *_: replace(state, termination_reason=reason)})
    assert CALLS[method](guard, fresh(CONFIG)).termination_reason == reason
    assert failure(guard) is None


def test_a_tree_that_pauses_a_run_which_has_asked_nothing_is_replaced() -> None:
    guard = guarded(should_continue=lambda state: (False, "needs_approval"))
    assert guard.should_continue(fresh(CONFIG)) == (True, "")
    report = failure(guard)
    assert report is not None
    assert "InvalidTree" in report.message


@pytest.mark.parametrize("reason", ["completed", "user_cancelled", "needs_approval"])
def test_a_tree_can_neither_complete_nor_cancel_nor_pause_a_run(reason: str) -> None:
    guard = guarded(on_turn_start=lambda state: replace(state, termination_reason=reason))
    assert guard.on_turn_start(fresh(CONFIG)).termination_reason is None
    report = failure(guard)
    assert report is not None
    assert report.metadata["corrected"] == ["termination_reason"]


@pytest.mark.parametrize("later", [None, "timeout"])
def test_a_tree_cannot_take_its_reason_back(later: str | None) -> None:
    guard = guarded(on_turn_start=lambda state: replace(state, termination_reason=later))
    state = fresh(CONFIG, termination_reason="no_progress")
    assert guard.on_turn_start(state).termination_reason == "no_progress"


@pytest.mark.parametrize("method", ["on_turn_start", "on_tool_result"])
def test_a_tree_that_sets_an_unknown_reason_is_replaced(method: str) -> None:
    guard = guarded(**{method: lambda state, *_: replace(state, termination_reason="bored")})
    assert CALLS[method](guard, fresh(CONFIG)).termination_reason is None
    report = failure(guard)
    assert report is not None
    assert "InvalidTree" in report.message
    assert guard.name == "default"


@pytest.mark.parametrize(
    "own",
    [lambda state, result: state, DefaultDecisionTree(CONFIG).on_tool_result],
    ids=["none", "same"],
)
def test_a_call_is_in_the_history_whoever_keeps_it(own: Callable[..., AgentState]) -> None:
    guard = guarded(on_tool_result=own)
    state = fresh(CONFIG)
    for _ in range(4):
        state = guard.on_tool_result(state, RESULT)
    assert state.recent_actions == (CALLED, CALLED, CALLED)
    assert failure(guard) is None


def test_a_tree_cannot_make_up_another_history() -> None:
    guard = guarded(on_tool_result=lambda state, result: state.with_action("made up"))
    assert guard.on_tool_result(fresh(CONFIG), RESULT).recent_actions == (CALLED,)
    report = failure(guard)
    assert report is not None
    assert report.metadata["corrected"] == ["recent_actions"]
