"""The rules that end a run, in order of precedence, and the warnings that come before them.

Pure functions of the state: the default tree decides by them, the loop enforces the hard ones of
them whatever a tree says, and the audit shows what each of them measured.
"""

import math
from collections.abc import Mapping
from typing import Any

from agents.core.chunks import Check
from agents.core.progress import IDENTICAL_TURNS, KNOWN_TURNS, WRITING_TURNS, digest
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


def checks(state: AgentState) -> tuple[Check, ...]:
    """Every rule with what it measured, in order of precedence."""
    limits = state.config
    answered = state.finish_reason == "stop" and state.wrap_up_reason is None
    needed = state.tokens_used + state.next_request
    over_budget = (
        state.finish_reason == "budget"
        or state.tokens_used >= state.token_limit
        or needed > state.token_limit
        or not fits_window(state)
    )
    return (
        Check("user_cancelled", float(state.cancelled), None, state.cancelled),
        Check("completed", state.finish_reason, "stop", answered),
        Check(
            "max_iterations",
            state.turn,
            limits.max_iterations,
            state.turn >= limits.max_iterations,
        ),
        Check("token_budget", needed, state.token_limit, over_budget),
        Check(
            "timeout",
            round(state.elapsed_seconds, 3),
            state.working_seconds,
            state.elapsed_seconds >= state.working_seconds,
        ),
        Check("no_progress", state.track.stuck, None, state.track.stuck is not None),
        Check("error_limit", state.error_streak, ERROR_LIMIT, state.error_streak >= ERROR_LIMIT),
        Check("output_truncated", state.finish_reason, "length", state.finish_reason == "length"),
        Check(
            "content_filter",
            state.finish_reason,
            "content_filter",
            state.finish_reason == "content_filter",
        ),
        Check("empty_answer", state.empty_answers, EMPTY_LIMIT, state.empty_answers >= EMPTY_LIMIT),
    )


def fits_window(state: AgentState) -> bool:
    """Whether the model's context has room for the next request and an answer to it."""
    return state.context_tokens + MIN_ANSWER <= (state.context_window or math.inf)


def with_due_warnings(state: AgentState) -> AgentState:
    """The state with every warning that is due and was not given yet. Safe to call twice."""
    for notice in due_warnings(state):
        state = state.with_notice(notice)
    return state


def is_warning(notice: Notice) -> bool:
    """Whether a notice is, or passes for, one of the warnings below: those are the loop's."""
    return notice.key in WARNING_KEYS or notice.key.startswith("repeated:")


def due_warnings(state: AgentState) -> list[Notice]:
    due: list[Notice] = []
    if state.warn_at_turn <= state.turn < state.config.max_iterations:
        due.append(_iteration_warning(state))
    if _tokens_are_short(state):
        due.append(_token_warning(state))
    if state.time_percent >= TIME_WARNING_PERCENT:
        due.append(_time_warning(state))
    if state.context_window and _context_percent(state) >= CONTEXT_WARNING_PERCENT:
        due.append(_context_warning(state))
    if state.track.stuck is None:
        due += _repetition_warnings(state)
    return due


def _tokens_are_short(state: AgentState) -> bool:
    return (
        state.token_percent >= state.config.token_warning_percent
        or state.tokens_used + state.next_request > state.token_limit
    )


def _context_percent(state: AgentState) -> float:
    return 100 * state.context_tokens / state.context_window


def _iteration_warning(state: AgentState) -> Notice:
    limit = state.config.max_iterations
    text = f"Approaching iteration limit ({state.turn}/{limit}). Consider wrapping up."
    return Notice(
        key="iterations",
        system_type="limit_warning",
        message=text,
        hint=text if limit > 2 else "",
        metadata=_numbers("iterations", state.turn, limit),
    )


def _token_warning(state: AgentState) -> Notice:
    used = f"{state.tokens_used:,}/{state.token_limit:,}"
    if state.token_percent < state.config.token_warning_percent:
        used += f"; one more turn and the answer take about {state.next_request:,}"
    text = f"Approaching token limit ({used}). Consider wrapping up."
    return Notice(
        key="tokens",
        system_type="limit_warning",
        message=text,
        hint=text,
        metadata={
            **_numbers("tokens", state.tokens_used, state.token_limit),
            "next_request": state.next_request,
        },
    )


def _time_warning(state: AgentState) -> Notice:
    spent, limit = round(state.elapsed_seconds, 1), round(state.time_limit, 1)
    text = f"Approaching time limit ({spent:g}/{limit:g} s). Consider wrapping up."
    return Notice(
        key="time",
        system_type="limit_warning",
        message=text,
        hint=text,
        metadata=_numbers("time", spent, limit),
    )


def _context_warning(state: AgentState) -> Notice:
    text = (
        f"The conversation fills {_context_percent(state):.0f} % of the model's context "
        f"({state.context_tokens:,}/{state.context_window:,} tokens). "
        "Consider wrapping up; a new conversation starts empty."
    )
    return Notice(
        key="context",
        system_type="context_warning",
        message=text,
        hint=text,
        metadata=_numbers("context", state.context_tokens, state.context_window),
    )


def _repetition_warnings(state: AgentState) -> list[Notice]:
    due: list[Notice] = []
    action = state.track.recent[-1] if state.track.recent else ""
    if action and state.track.same_results >= 2:
        due.append(
            Notice(
                key=f"repeated:{digest(action)}",
                system_type="loop_warning",
                hint="The last two turns made the same calls and got the same results. "
                "Repeating them once more will end the run: do something else, or answer.",
            )
        )
    if state.track.loops:
        due.append(
            Notice(
                key="loop",
                system_type="loop_warning",
                message=f"The agent keeps doing the same: {shortened(action)}. "
                "If it learns nothing new, the run will end.",
                metadata={
                    **_numbers("no_progress", state.track.recent.count(action), 3),
                    "event": LOOP_EVENT,
                    "action": action,
                },
            )
        )
    return due


def _numbers(limit_type: str, value: float, limit: float) -> dict[str, Any]:
    return {
        "limit_type": limit_type,
        "current_value": value,
        "limit_value": limit,
        "percent": round(100 * value / limit, 1),
    }


def limit_notice(reason: str, state: AgentState) -> Notice:
    """The short notice that a limit has been reached: limit, value, what to do."""
    match reason:
        case "max_iterations":
            limit = state.config.max_iterations
            return _reached(
                reason,
                f"Turn limit reached ({state.turn}/{limit}). "
                "What was found is kept; continue or raise the limit.",
                _numbers("iterations", state.turn, limit),
            )
        case "token_budget":
            return _reached(reason, _budget_text(state), _token_warning(state).metadata)
        case "timeout":
            spent, limit_s = round(state.elapsed_seconds, 1), round(state.time_limit, 1)
            return _reached(
                reason,
                f"Time limit reached ({spent:g}/{limit_s:g} s). "
                "What was found is kept; continue or raise the limit.",
                _numbers("time", spent, limit_s),
            )
        case "no_progress" if state.track.stuck:
            return _no_progress_notice(state)
        case "error_limit" if state.error_streak:
            return Notice(
                key=f"reached:{reason}",
                system_type="error_limit",
                message=f"Tools failed {state.error_streak} turns in a row "
                f"(limit {ERROR_LIMIT}). See the errors, correct what they name, then continue.",
                metadata=_numbers("error_limit", state.error_streak, ERROR_LIMIT),
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
        "identical": (track.same_results, IDENTICAL_TURNS),
        "writing": (track.same_action, WRITING_TURNS),
    }.get(track.stuck or "", (track.known_row, KNOWN_TURNS))
    return Notice(
        key="reached:no_progress",
        system_type="no_progress",
        message=f"No progress: {count} turns only repeated what was known, at last "
        f"{shortened(action)}. Rephrase the question or say where to look, then continue.",
        metadata={
            **_numbers("no_progress", count, limit),
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
