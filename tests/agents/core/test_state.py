"""What a decision tree sees: frozen facts, and how a turn changes them."""

import math
import time
from dataclasses import FrozenInstanceError, dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.core.chunks import Turn
from agents.core.state import AgentState, Notice
from agents.core.stuck import TurnAction, count_errors_at_end
from tests.agents.core.factories import fresh, limits, turn_end

turn_ends = st.builds(
    turn_end,
    answered=st.booleans(),
    prompt_tokens=st.integers(0, 10_000),
    completion_tokens=st.integers(0, 10_000),
    subagent_tokens=st.integers(0, 10_000),
    usage_source=st.sampled_from(["provider", "estimate", "mixed"]),
    finish_reason=st.sampled_from(["stop", "tool_calls", "length", "empty", "cut"]),
    action=st.sampled_from(["", "look:{}", "find:{}"]),
    failed=st.sampled_from([None, True, False]),
    errors=st.sampled_from([None, 0, 1, 2]),
    wrap_up=st.sampled_from([None, "timeout"]),
)


# -- building one ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "broken",
    [
        {"turn": -1},
        {"tokens_used": -1},
        {"start_time": 10.0, "now": 9.0},
        {"start_time": 9e9, "now": None},
        {"recent_actions": ("a", "b", "c", "d")},
    ],
    ids=str,
)
def test_an_impossible_state_cannot_be_built(broken: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must not|at most|must be"):
        fresh(**broken)
    for change in (replace, AgentState.replace):
        with pytest.raises(ValueError, match=r"must not|at most|must be"):
            change(fresh(), **broken)


@pytest.mark.parametrize("config", [None, {}, "default"], ids=repr)
def test_a_state_without_a_configuration_is_refused_in_words(config: Any) -> None:
    with pytest.raises(ValueError, match="config must be an AgentConfig, not"):
        AgentState(user_id="ada", project_id="engine", config=config)


def test_a_state_is_frozen_and_keyword_only() -> None:
    with pytest.raises(FrozenInstanceError):
        fresh().turn = 3  # type: ignore[misc]
    with pytest.raises(TypeError):
        AgentState("ada", "engine", limits())  # type: ignore[call-arg]


def test_a_state_begins_at_nothing() -> None:
    state = fresh()
    assert (state.turn, state.tokens_used, state.elapsed_seconds, state.error_streak) == (
        0,
        0,
        0,
        0,
    )
    assert (state.cancelled, state.is_terminal, state.wrap_up_reason) == (False, False, None)
    assert (state.recent_actions, state.fired, state.notices) == ((), frozenset(), ())


def test_a_state_built_by_hand_has_begun_now() -> None:
    before = time.time()
    state = AgentState(user_id="ada", project_id="engine", config=limits())
    assert before <= state.start_time <= time.time()
    earlier = replace(state, start_time=before - 60)
    assert 60 <= earlier.elapsed_seconds <= 60 + time.time() - before


def test_the_configuration_sets_the_limits_unless_a_share_was_given() -> None:
    config = limits(token_budget=2_000, timeout_seconds=60)
    assert (fresh(config).token_limit, fresh(config).time_limit) == (2_000, 60)
    share = fresh(config, token_limit=500, time_limit=7.5)
    assert (share.token_limit, share.time_limit) == (500, 7.5)


# -- derived --------------------------------------------------------------------------------------


def test_the_derived_numbers() -> None:
    config = limits(max_iterations=10, token_budget=2_000, timeout_seconds=100)
    state = fresh(config, turn=7, tokens_used=500, start_time=1_000.0, now=1_020.0)
    assert state.elapsed_seconds == 20
    assert (state.iteration_percent, state.token_percent, state.time_percent) == (70, 25, 20)
    assert (state.turns_left, state.tokens_left) == (3, 1_500)


def test_nothing_is_left_rather_than_less() -> None:
    state = fresh(limits(max_iterations=2, token_budget=1_000), turn=3, tokens_used=1_200)
    assert (state.turns_left, state.tokens_left) == (0, 0)


def test_a_state_with_a_reason_is_terminal() -> None:
    assert fresh(termination_reason="timeout").is_terminal


@pytest.mark.parametrize(
    ("seconds", "working"), [(10, 8.5), (60, 51.0), (100, 85.0), (120, 105.0), (600, 585.0)]
)
def test_the_last_fifteen_seconds_or_percent_are_kept_for_the_wrap_up(
    seconds: int, working: float
) -> None:
    assert fresh(limits(timeout_seconds=seconds)).working_seconds == pytest.approx(working)


# -- when to warn ---------------------------------------------------------------------------------


@pytest.mark.parametrize("turns", range(1, 51))
def test_the_warning_comes_two_turns_ahead_at_every_percent(turns: int) -> None:
    for percent in range(50, 91):
        state = fresh(limits(max_iterations=turns, soft_warning_percent=percent))
        wanted = max(1, min(-(-turns * percent // 100), turns - 2))
        assert state.warn_at_turn == wanted
        if turns >= 3:
            assert 1 <= state.warn_at_turn <= turns - 2


@pytest.mark.parametrize(
    ("turns", "percent", "at"), [(10, 70, 7), (15, 70, 11), (50, 90, 45), (3, 90, 1), (2, 50, 1)]
)
def test_the_warning_turn_by_example(turns: int, percent: int, at: int) -> None:
    config = limits(max_iterations=turns, soft_warning_percent=percent)
    assert fresh(config).warn_at_turn == at


# -- notices and extensions -----------------------------------------------------------------------


def test_a_notice_waits_once() -> None:
    notice = Notice(key="k", system_type="notification", message="one")
    state = fresh().with_notice(notice).with_notice(replace(notice, message="two"))
    assert [n.message for n in state.notices] == ["one"]


def test_a_notice_that_was_given_does_not_wait_again() -> None:
    state = fresh(fired=frozenset({"k"}))
    assert state.with_notice(Notice(key="k", system_type="notification")) is state


def test_notices_wait_in_order() -> None:
    state = fresh()
    for key in "abc":
        state = state.with_notice(Notice(key=key, system_type="notification"))
    assert [n.key for n in state.notices] == ["a", "b", "c"]


def test_extensions_are_read_only() -> None:
    given = {"mine": 1}
    state = fresh(extensions=given)
    given["mine"] = 2
    assert state.extensions["mine"] == 1
    with pytest.raises(TypeError):
        state.extensions["mine"] = 3  # type: ignore[index]


def test_a_module_replaces_only_its_own_extension() -> None:
    before = fresh().with_extension("yours", 1).with_extension("mine", 2)
    after = before.with_extension("mine", 3)
    assert dict(after.extensions) == {"yours": 1, "mine": 3}
    assert dict(before.extensions) == {"yours": 1, "mine": 2}


# -- after a turn ---------------------------------------------------------------------------------


@given(turn_ends)
def test_a_turn_replaces_the_state_and_leaves_the_old_one(turn: Turn) -> None:
    before = fresh(turn=2, tokens_used=100, recent_actions=("a", "b", "c"))
    copy = replace(before)
    after = before.after_turn(turn)
    assert before == copy
    assert after.turn == 2 + turn.answered
    spent = turn.prompt_tokens + turn.completion_tokens + turn.subagent_tokens
    assert after.tokens_used == 100 + spent
    assert after.finish_reason == turn.finish_reason
    assert after.wrap_up_reason == turn.wrap_up
    assert len(after.recent_actions) <= 3


@given(turn_ends)
def test_a_turn_leaves_what_trees_own_alone(turn: Turn) -> None:
    notice = Notice(key="k", system_type="notification")
    before = fresh(withheld_tools=frozenset({"x"})).with_notice(notice).with_extension("m", [1])
    after = before.after_turn(turn)
    assert after.notices == (notice,)
    assert after.withheld_tools == {"x"}
    assert after.extensions == {"m": [1]}


def test_the_last_three_actions_are_kept_until_a_turn_without_any() -> None:
    state = fresh()
    for action in "abcd":
        state = state.with_action(action).after_turn(turn_end(action=action))
    assert state.recent_actions == ("b", "c", "d")
    assert state.after_turn(turn_end(action="")).recent_actions == ()


def test_the_track_follows_the_turns() -> None:
    turn = turn_end(action="look:{}", results="r", results_normalised="n", writes=True)
    state = fresh().after_turn(turn)
    assert state.progress == fresh().progress.with_step(
        TurnAction("look:{}", "r", "n", writes=True)
    )
    for _ in range(2):
        state = state.after_turn(turn)
    assert state.progress.stuck_rule == "identical"


@pytest.mark.parametrize(
    ("sources", "merged"),
    [
        (["provider", "provider"], "provider"),
        (["estimate", "estimate"], "estimate"),
        (["provider", "estimate"], "mixed"),
        (["estimate", "provider", "provider"], "mixed"),
        (["mixed", "provider"], "mixed"),
    ],
)
def test_usage_sources_are_merged(sources: list[str], merged: str) -> None:
    state = fresh()
    for source in sources:
        state = state.after_turn(turn_end(prompt_tokens=1, usage_source=source))
    assert state.usage_source == merged


def test_a_turn_that_cost_nothing_says_nothing_about_the_source() -> None:
    state = fresh().after_turn(turn_end(usage_source="estimate"))
    assert state.usage_source is None


@pytest.mark.parametrize(
    ("failed", "streak"),
    [
        ([True], 1),
        ([True, True, True], 3),
        ([True, True, False], 0),
        ([True, None, True], 2),
        ([False, None], 0),
    ],
)
def test_recordings_from_before_are_counted_by_failing_turns(
    failed: list[bool | None], streak: int
) -> None:
    state = fresh()
    for outcome in failed:
        state = state.after_turn(turn_end(action="look:{}", failed=outcome))
    assert state.error_streak == streak


def test_in_recordings_from_before_a_turn_without_calls_ends_a_row() -> None:
    state = fresh(error_streak=2).after_turn(turn_end(action="", failed=None))
    assert state.error_streak == 0


@pytest.mark.parametrize(
    ("batches", "streak"),
    [
        (["x"], 1),
        (["xxx"], 2),
        (["xxxxx", "x"], 3),
        (["x", "x", "x"], 3),
        (["ox", "x", "x"], 3),
        (["x", "x", "xo"], 0),
        (["xx", "o", "x"], 1),
        (["xx", "", "x"], 3),
        (["x", "-", "x"], 2),
    ],
)
def test_errors_are_counted_call_by_call(batches: list[str], streak: int) -> None:
    """x fails, o does well, - is refused by a limit; an empty batch is a turn without calls."""
    state = fresh()
    for batch in batches:
        ran = [call == "o" for call in batch if call != "-"]
        state = state.after_turn(
            turn_end(
                action="look:{}" if batch else "",
                failed=not any(ran) if ran else None,
                errors=count_errors_at_end(ran),
            )
        )
    assert state.error_streak == streak


def test_empty_answers_are_counted_in_a_row() -> None:
    state = fresh()
    for finish, wanted in [("empty", 1), ("empty", 2), ("stop", 0), ("empty", 1)]:
        state = state.after_turn(turn_end(finish_reason=finish))
        assert state.empty_answers == wanted


def test_a_changed_state_is_a_replaced_one() -> None:
    state = fresh(turn=2, extensions={"m": 1})
    values: dict[str, Any] = {"turn": 3, "recent_actions": ("a",), "extensions": {"m": 2}}
    assert state.replace(**values) == replace(state, **values)
    assert (state.turn, state.extensions) == (2, {"m": 1})
    with pytest.raises(FrozenInstanceError):
        state.replace(turn=3).turn = 4  # type: ignore[misc]


@dataclass(frozen=True, kw_only=True)
class Reflective(AgentState):
    passes: int = 0


def test_a_subclass_keeps_its_own_fields_through_every_transition() -> None:
    state = Reflective(user_id="ada", project_id="engine", config=limits(), passes=2)
    for after in (
        state.after_turn(turn_end(action="a")),
        state.with_notice(Notice(key="k", system_type="notification")),
        state.with_extension("m", 1),
        state.replace(turn=1),
        replace(state, turn=1),
    ):
        assert isinstance(after, Reflective)
        assert after.passes == 2


@given(st.lists(turn_ends, max_size=8))
def test_the_same_turns_always_give_the_same_state(turns: list[Turn]) -> None:
    first, second = fresh(), fresh()
    for turn in turns:
        first, second = first.after_turn(turn), second.after_turn(replace(turn, seq=9, at=math.pi))
    assert first == second
