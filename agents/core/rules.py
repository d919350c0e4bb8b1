"""The rules that end a run, in order of precedence, and the warnings that come before them.

Pure functions of the state: the default tree decides by them, the loop enforces the hard ones of
them whatever a tree says, and the audit shows what each of them measured.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from agents.core.chunks import Check
from agents.core.notices import (
    context_percent,
    context_warning,
    iteration_warning,
    numbers,
    time_warning,
    token_warning,
)
from agents.core.progress import LOOP_COUNT, digest
from agents.core.reasons import REASONS
from agents.core.state import AgentState, Notice
from agents.core.tokens import MIN_ANSWER

ERROR_LIMIT = 3
EMPTY_LIMIT = 2
TIME_WARNING_PERCENT = 80
CONTEXT_WARNING_PERCENT = 70
WARNING_KEYS = frozenset({"iterations", "tokens", "time", "context", "loop"})
"""The keys of the warnings below; that of a repeated action is made of it."""
LOOP_EVENT = "agent.loop.detected"
"""Recorded once a run: by the loop warning, or by the notice that ends the run instead."""

ENFORCED = frozenset(
    {
        "user_cancelled",
        "max_iterations",
        "token_budget",
        "timeout",
        "output_truncated",
        "content_filter",
        "empty_answer",
    }
)
"""Rules that hold even against a tree that always says yes."""


def _over_budget(state: AgentState) -> bool:
    return (
        state.finish_reason == "budget"
        or state.tokens_used >= state.token_limit
        or state.tokens_used + state.next_request > state.token_limit
        or not fits_window(state)
    )


RULES: Mapping[str, Callable[[AgentState], bool]] = {
    "user_cancelled": lambda state: state.cancelled,
    "completed": lambda state: state.finish_reason == "stop" and state.wrap_up_reason is None,
    "max_iterations": lambda state: state.turn >= state.config.max_iterations,
    "token_budget": _over_budget,
    "timeout": lambda state: state.elapsed_seconds >= state.working_seconds,
    "no_progress": lambda state: state.track.stuck is not None,
    "error_limit": lambda state: state.error_streak >= ERROR_LIMIT,
    "output_truncated": lambda state: state.finish_reason == "length",
    "content_filter": lambda state: state.finish_reason == "content_filter",
    "empty_answer": lambda state: state.empty_answers >= EMPTY_LIMIT,
}
"""When each rule fires, in order of precedence."""
_HARD = {rule: fires for rule, fires in RULES.items() if rule in ENFORCED}


def first_fired(state: AgentState, *, enforced: bool = False) -> str | None:
    """The first rule that fires, of all or of the enforced ones: cheaper than all the checks."""
    for rule, fires in (_HARD if enforced else RULES).items():
        if fires(state):
            return rule
    return None


def checks(state: AgentState) -> tuple[Check, ...]:
    """Every rule with what it measured, in order of precedence."""
    finish = state.finish_reason
    measured: dict[str, tuple[float | str | None, float | str | None]] = {
        "user_cancelled": (float(state.cancelled), None),
        "completed": (finish, "stop"),
        "max_iterations": (state.turn, state.config.max_iterations),
        "token_budget": (state.tokens_used + state.next_request, state.token_limit),
        "timeout": (round(state.elapsed_seconds, 3), state.working_seconds),
        "no_progress": (state.track.stuck, None),
        "error_limit": (state.error_streak, ERROR_LIMIT),
        "output_truncated": (finish, "length"),
        "content_filter": (finish, "content_filter"),
        "empty_answer": (state.empty_answers, EMPTY_LIMIT),
    }
    return tuple(Check(rule, *measured[rule], fires(state)) for rule, fires in RULES.items())


def fits_window(state: AgentState) -> bool:
    """Whether the model's context has room for the next request and an answer to it."""
    return state.context_tokens + MIN_ANSWER <= (state.context_window or math.inf)


def with_due_warnings(state: AgentState) -> AgentState:
    """The state with every warning that is due and was not given yet. Safe to call twice."""
    for notice in due_warnings(state):
        state = state.with_notice(notice)
    return state


def told(state: AgentState) -> AgentState:
    """The state once everything that is due, and everything a tree wanted said, was given."""
    keys = {notice.key for notice in due_warnings(state)}
    keys.update(notice.key for notice in state.notices if not is_warning(notice))
    if not state.notices and keys <= state.fired:
        return state
    return state.changed(notices=(), fired=state.fired | keys)


def is_warning(notice: Notice) -> bool:
    """Whether a notice is, or passes for, one of the warnings below: those are the loop's."""
    return notice.key in WARNING_KEYS or notice.key.startswith("repeated:")


def due_warnings(state: AgentState) -> list[Notice]:
    """Every warning that is due. One that was given is not made again, repetitions apart."""
    due = [
        warning(state)
        for key, (is_due, warning) in _WARNINGS.items()
        if key not in state.fired and is_due(state)
    ]
    return due if state.track.stuck else due + _repetition_warnings(state)


def _turns_are_short(state: AgentState) -> bool:
    return state.warn_at_turn <= state.turn < state.config.max_iterations


def _tokens_are_short(state: AgentState) -> bool:
    return (
        state.token_percent >= state.config.token_warning_percent
        or state.tokens_used + state.next_request > state.token_limit
    )


def _context_is_short(state: AgentState) -> bool:
    return state.context_window > 0 and context_percent(state) >= CONTEXT_WARNING_PERCENT


_WARNINGS: Mapping[str, tuple[Callable[[AgentState], bool], Callable[[AgentState], Notice]]] = {
    "iterations": (_turns_are_short, iteration_warning),
    "tokens": (_tokens_are_short, token_warning),
    "time": (lambda state: state.time_percent >= TIME_WARNING_PERCENT, time_warning),
    "context": (_context_is_short, context_warning),
}


def _repetition_warnings(state: AgentState) -> list[Notice]:
    track, due = state.track, []
    action = track.recent[-1] if track.recent else ""
    if action and track.same_results >= 2:
        is_last = track.same_results + 1 == track.rules.identical
        advice = "Repeating them once more will end the run: do something else, or answer."
        due.append(
            Notice(
                key=f"repeated:{digest(action)}",
                system_type="loop_warning",
                hint="The last two turns made the same calls and got the same results. "
                + (advice if is_last else "Do something else, or answer."),
            )
        )
    if track.loops:
        due.append(
            Notice(
                key="loop",
                system_type="loop_warning",
                message=f"The agent keeps doing the same: {shortened(action)}. "
                "If it learns nothing new, the run will end.",
                metadata={
                    **numbers("no_progress", track.recent.count(action), LOOP_COUNT),
                    "event": LOOP_EVENT,
                    "action": action,
                },
            )
        )
    return due


def limit_notice(reason: str, state: AgentState) -> Notice:
    """The short notice that a limit has been reached: limit, value, what to do."""
    match reason:
        case "max_iterations":
            limit = state.config.max_iterations
            return _reached(
                reason,
                f"Turn limit reached ({state.turn}/{limit}). "
                "What was found is kept; continue or raise the limit.",
                numbers("iterations", state.turn, limit),
            )
        case "token_budget":
            return _reached(reason, _budget_text(state), token_warning(state).metadata)
        case "timeout":
            spent, limit_s = round(state.elapsed_seconds, 1), round(state.time_limit, 1)
            return _reached(
                reason,
                f"Time limit reached ({spent:g}/{limit_s:g} s). "
                "What was found is kept; continue or raise the limit.",
                numbers("time", spent, limit_s),
            )
        case "no_progress" if state.track.stuck:
            return _no_progress_notice(state)
        case "error_limit" if state.error_streak:
            return Notice(
                key=f"reached:{reason}",
                system_type="error_limit",
                message=f"Tools failed {state.error_streak} turns in a row "
                f"(limit {ERROR_LIMIT}). See the errors, correct what they name, then continue.",
                metadata=numbers("error_limit", state.error_streak, ERROR_LIMIT),
            )
        case _:
            return _reached(reason, "", {"limit_type": reason})


def _budget_text(state: AgentState) -> str:
    used = f"{state.tokens_used:,}/{state.token_limit:,}"
    if state.tokens_used >= state.token_limit or state.finish_reason == "budget":
        return f"Token limit reached ({used}). What was found is kept; continue or raise the limit."
    if not fits_window(state):
        return (
            f"The model's context is full ({state.context_tokens:,}/{state.context_window:,} "
            "tokens). What was found is kept; start a new conversation or narrow the question."
        )
    return (
        f"Token limit reached: {used} used and the next request would not fit. "
        "What was found is kept; continue or raise the limit."
    )


def _no_progress_notice(state: AgentState) -> Notice:
    action = next((a for a in reversed(state.track.recent) if a), "")
    track = state.track
    count, limit = {
        "identical": (track.same_results, track.rules.identical),
        "writing": (track.same_action, track.rules.writing),
    }.get(track.stuck or "", (track.known_row, track.rules.known))
    return Notice(
        key="reached:no_progress",
        system_type="no_progress",
        message=f"No progress: {count} turns only repeated what was known, at last "
        f"{shortened(action)}. Rephrase the question or say where to look, then continue.",
        metadata={
            **numbers("no_progress", count, limit),
            "rule": state.track.stuck,
            "action": action,
            **({} if "loop" in state.fired else {"event": LOOP_EVENT}),
        },
    )


def _reached(reason: str, message: str, metadata: Mapping[str, Any]) -> Notice:
    entry = REASONS.get(reason)
    return Notice(
        key=f"reached:{reason}",
        system_type="limit_reached",
        message=message or f"{entry.sentence} {entry.remedy}",
        severity=entry.severity,
        metadata=metadata,
    )


def shortened(action: str, length: int = 120) -> str:
    return action if len(action) <= length else action[: length - 1] + "…"
