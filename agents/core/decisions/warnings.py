"""When each warning before a limit is due, and which were given."""

from collections.abc import Callable, Mapping

from agents.core.decisions.notices import (
    context_warning,
    iteration_warning,
    repetition_warnings,
    time_warning,
    token_warning,
)
from agents.core.state import AgentState, Notice

TIME_WARNING_PERCENT = 80
CONTEXT_WARNING_PERCENT = 70
WARNING_KEYS = frozenset({"iterations", "tokens", "time", "context", "loop"})
LOOP_KEY_PREFIXES = ("repeated:", "wrap_up:", "reached:")
"""How the keys begin of the other notices that are the loop's alone."""


def add_due_warnings(state: AgentState) -> AgentState:
    """Return the state with every warning that is due and was not given yet. Safe to call twice."""
    for notice in due_warnings(state):
        state = state.with_notice(notice)
    return state


def mark_notices_given(state: AgentState) -> AgentState:
    """Return the state once all that is due, and all that a tree wanted said, was given."""
    keys = {notice.key for notice in due_warnings(state)}
    keys.update(notice.key for notice in state.notices if not is_warning(notice))
    if not state.notices and keys <= state.fired:
        return state
    return state.replace(notices=(), fired=state.fired | keys)


def is_warning(notice: Notice) -> bool:
    """Return whether a notice is, or passes for, one about a limit: those are the loop's."""
    return notice.key in WARNING_KEYS or notice.key.startswith(LOOP_KEY_PREFIXES)


def due_warnings(state: AgentState) -> list[Notice]:
    """Return every warning that is due. One that was given is not made again, repetitions apart."""
    due = [
        warning(state)
        for key, (is_due, warning) in _WARNINGS.items()
        if key not in state.fired and is_due(state)
    ]
    return due if state.progress.stuck_rule else due + repetition_warnings(state)


def _turns_are_short(state: AgentState) -> bool:
    """Return whether turns run out. With one or two, only the last answer is announced."""
    limit = state.config.max_iterations
    return limit > 2 and state.warn_at_turn <= state.turn < limit


def _tokens_are_short(state: AgentState) -> bool:
    """Return whether tokens run out: at the percent, or when two turns no longer fit."""
    return (
        state.token_percent >= state.config.token_warning_percent
        or state.tokens_used + state.two_requests > state.token_limit
        or state.finish_reason == "budget"
    )


def _context_is_short(state: AgentState) -> bool:
    return state.context_percent >= CONTEXT_WARNING_PERCENT


_WARNINGS: Mapping[str, tuple[Callable[[AgentState], bool], Callable[[AgentState], Notice]]] = {
    "iterations": (_turns_are_short, iteration_warning),
    "tokens": (_tokens_are_short, token_warning),
    "time": (lambda state: state.time_percent >= TIME_WARNING_PERCENT, time_warning),
    "context": (_context_is_short, context_warning),
}
