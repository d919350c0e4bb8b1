"""Decisions at a checkpoint, for the loop and for the replay of a recorded run alike. Pure.

decide -> (the run ends, or) wrap_up_reason -> start_turn_state -> ... -> AgentState.after_turn
"""

from collections.abc import Callable

from agents.core.decisions.endings import (
    NEEDS_APPROVAL,
    find_end_reason,
    find_failed_end,
    has_failed,
)
from agents.core.decisions.guard import TreeGuard
from agents.core.reasons import REASONS
from agents.core.state import AgentState

WRAP_UP = "wrap_up"
"""The checkpoint after a wrap-up turn; the others are "start" and "turn"."""


def decide(guard: TreeGuard, state: AgentState, checkpoint: str) -> tuple[bool, str]:
    """Return whether the run goes on, else why not: the tree's word, as far as it may say."""
    goes_on, reason = guard.should_continue(state)
    if state.cancelled:
        return False, "user_cancelled"
    if state.held_calls:  # they have no result: nothing else can follow
        return False, NEEDS_APPROVAL
    if checkpoint == WRAP_UP and has_failed(state):
        return False, find_failed_end(state)
    if checkpoint == WRAP_UP:
        return False, state.wrap_up_reason or reason
    if state.termination_reason is not None:  # a tree has asked for the end
        return False, state.termination_reason
    if goes_on and guard.overrides("should_continue"):  # the default tree has asked for all
        enforced = find_end_reason(state, enforced=True)
        if enforced is not None:
            return False, enforced
    if goes_on and state.asked_end is not None:
        return False, state.asked_end
    return goes_on, reason


def wrap_up_reason(
    state: AgentState, checkpoint: str, goes_on: bool, reason: str, fits: Callable[[], bool]
) -> str | None:
    """Return why the turn to come is the wrap-up, or None; `fits` says whether there is room."""
    if goes_on:
        return "max_iterations" if state.turns_left == 1 else None
    if checkpoint == WRAP_UP or state.has_answered or not REASONS.get(reason).wraps_up:
        return None
    return reason if fits() else None


def start_turn_state(guard: TreeGuard, state: AgentState, wrap_up: str | None) -> AgentState:
    """Return the state at the start of a turn, as the tree wants it."""
    if state.wrap_up_reason != wrap_up:
        state = state.replace(wrap_up_reason=wrap_up)
    return guard.on_turn_start(state)
