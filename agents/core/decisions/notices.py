"""The words and numbers of every notice about a limit: before it, at its last answer, at its end.

A limit is approached (phase `approach`), then, if there is room, one last answer is asked for
(phase `wrap_up`), and only when the run ends is the limit reached.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agents.core.chunks import SystemType
from agents.core.reasons import REASONS
from agents.core.sanitize import truncate
from agents.core.state import AgentState, Notice
from agents.core.stuck import ERROR_LIMIT, LOOP_COUNT, LOOP_WINDOW, digest

LOOP_EVENT = "agent.loop.detected"
"""Recorded once a run: by the loop warning, or by the notice that ends the run instead."""
REPEATED_EVENT = "agent.turn.repeated"
_BUDGET_WRAP_UP, _CONTEXT_WRAP_UP = "wrap_up:token_budget", "wrap_up:context"
_CONTINUE_ADVICE = "What was found is kept; continue or raise the limit."


def limit_metadata(limit_type: str, value: float, limit: float) -> dict[str, Any]:
    return {
        "limit_type": limit_type,
        "current_value": value,
        "limit_value": limit,
        "percent": round(100 * value / limit, 1),
    }


def _format_tokens(state: AgentState) -> str:
    return f"{state.tokens_used:,}/{state.token_limit:,}"


def _format_context(state: AgentState) -> str:
    return f"{state.context_tokens:,}/{state.context_window:,} tokens"


def _round_elapsed(state: AgentState) -> tuple[float, float]:
    return round(state.elapsed_seconds, 1), round(state.time_limit, 1)


# -- approaching ----------------------------------------------------------------------------------


def _build_warning(
    key: str, message: str, about: Mapping[str, Any], kind: SystemType = "limit_warning"
) -> Notice:
    return Notice(
        key=key,
        system_type=kind,
        message=message,
        hint=message,
        metadata={**about, "phase": "approach"},
    )


def iteration_warning(state: AgentState) -> Notice:
    limit = state.config.max_iterations
    text = f"Approaching iteration limit ({state.turn}/{limit}). Consider wrapping up."
    return _build_warning("iterations", text, limit_metadata("iterations", state.turn, limit))


def token_warning(state: AgentState) -> Notice:
    """Warn of the budget. One that is over already was crossed at once, and is not approached."""
    at_once = state.is_budget_spent
    if at_once:
        text = _describe_sudden_overrun(state)
    else:
        used = _format_tokens(state)
        if state.token_percent < state.config.token_warning_percent:
            used += f"; two more iterations and the answer take about {state.two_requests:,}"
        text = f"Approaching token limit ({used}). Consider wrapping up."
    about = limit_metadata("tokens", state.tokens_used, state.token_limit)
    more = {"next_request": state.next_request, "at_once": at_once}
    return _build_warning("tokens", text, {**about, **more})


def _describe_sudden_overrun(state: AgentState) -> str:
    needs = f"another iteration and the answer take about {state.next_request:,}"
    if not state.turn:
        return (
            f"The prompt alone leaves the token budget no room for tools ({_format_tokens(state)}; "
            f"{needs}). Consider a larger budget."
        )
    advice, used = "Consider a larger budget or a narrower question.", _format_tokens(state)
    if state.finish_reason == "budget":
        return f"One answer took what the token budget had left ({used}). {advice}"
    return f"One iteration used the rest of the token budget ({used}; {needs}). {advice}"


def time_warning(state: AgentState) -> Notice:
    spent, limit = _round_elapsed(state)
    text = f"Approaching time limit ({spent:g}/{limit:g} s). Consider wrapping up."
    if spent >= limit:
        text = (
            f"One step took the rest of the time at once ({spent:g}/{limit:g} s). Consider a "
            "longer time limit or a narrower question."
        )
    return _build_warning("time", text, limit_metadata("time", spent, limit))


def context_warning(state: AgentState) -> Notice:
    text = (
        f"The conversation fills {state.context_percent:.0f} % of the model's context "
        f"({_format_context(state)}). Consider wrapping up; a new conversation starts empty."
    )
    about = limit_metadata("context", state.context_tokens, state.context_window)
    return _build_warning("context", text, about, "context_warning")


# -- repeating ------------------------------------------------------------------------------------


def repetition_warnings(state: AgentState) -> list[Notice]:
    """Return what to say of an action that was done before: to the model, then to the user."""
    track, due = state.progress, []
    action = track.recent[-1] if track.recent else ""
    if action and track.same_results >= 2:
        is_last = track.same_results + 1 == track.rules.identical
        advice = "Repeating them once more will end the run: do something else, or answer."
        due.append(
            Notice(
                key=f"repeated:{digest(action)}",
                system_type="loop_warning",
                hint="The last two iterations made the same calls and got the same results. "
                + (advice if is_last else "Do something else, or answer."),
                metadata={
                    "event": REPEATED_EVENT,
                    "count": track.same_results,
                    "digest": digest(action),
                    "action": action,
                },
            )
        )
    if track.is_looping:
        due.append(_loop_warning(action, track.recent.count(action)))
    return due


def _loop_warning(action: str, count: int) -> Notice:
    times = f"{count} times in the last {LOOP_WINDOW} iterations"
    return Notice(
        key="loop",
        system_type="loop_warning",
        message=f"The agent did the same {times} (a loop from {LOOP_COUNT} on): "
        f"{truncate(action)}. If it learns nothing new, the run will end.",
        hint=f"You made the same calls {times}. What they return is known to you: "
        "do something else, or answer.",
        metadata={
            **limit_metadata("no_progress", count, LOOP_COUNT),
            "event": LOOP_EVENT,
            "action": action,
        },
    )


# -- the last answer ------------------------------------------------------------------------------


def wrap_up_notice(reason: str, state: AgentState) -> Notice:
    """Say that the run answers now, because a limit that lies ahead leaves room for no more."""
    key = f"wrap_up:{reason}"
    match reason:
        case "max_iterations":
            last, limit = state.turn + 1, state.config.max_iterations
            text, about = (
                f"Last iteration ({last}/{limit})",
                limit_metadata("iterations", last, limit),
            )
        case "token_budget" if not state.fits_window:
            key, text = (
                _CONTEXT_WRAP_UP,
                f"The model's context is nearly full ({_format_context(state)})",
            )
            about = limit_metadata("context", state.context_tokens, state.context_window)
        case "token_budget":
            text = f"Token budget nearly used ({_format_tokens(state)})"
            is_early = state.token_percent < state.config.token_warning_percent
            if is_early and state.finish_reason != "budget":
                text = (
                    f"The token budget has no room for another iteration ({_format_tokens(state)}; "
                    f"it and the answer take about {state.next_request:,})"
                )
            about = limit_metadata("tokens", state.tokens_used, state.token_limit)
        case _:
            spent, limit_s = _round_elapsed(state)
            text = f"Time nearly used ({spent:g}/{limit_s:g} s)"
            about = limit_metadata("time", spent, limit_s)
    return Notice(
        key=key,
        system_type="limit_warning",
        message=f"{text}: answering now.",
        metadata={**about, "phase": "wrap_up"},
    )


# -- the end --------------------------------------------------------------------------------------


def limit_notice(reason: str, state: AgentState) -> Notice:
    """Say that a limit has been reached: which, what was used of it, what to do."""
    match reason:
        case "max_iterations":
            limit = state.config.max_iterations
            text = f"Maximum iterations reached. {state.turn}/{limit} used. {_CONTINUE_ADVICE}"
            return _build_limit_notice(
                reason, text, limit_metadata("iterations", state.turn, limit)
            )
        case "token_budget" if _is_context_full(state):
            text = (
                f"The model's context is full ({_format_context(state)}). What was found is kept; "
                "start a new conversation or narrow the question."
            )
            about = limit_metadata("context", state.context_tokens, state.context_window)
            return _build_limit_notice(reason, text, about)
        case "token_budget":
            about = limit_metadata("tokens", state.tokens_used, state.token_limit)
            text = _format_limit("Token", _format_tokens(state), is_used_up=_is_used_up(state))
            return _build_limit_notice(reason, text, about)
        case "timeout":
            spent, limit_s = _round_elapsed(state)
            text = _format_limit("Time", f"{spent:g}/{limit_s:g} s", is_used_up=spent >= limit_s)
            return _build_limit_notice(reason, text, limit_metadata("time", spent, limit_s))
        case "no_progress" if state.progress.stuck_rule:
            return _no_progress_notice(state)
        case "error_limit" if state.error_streak:
            times = "time" if state.error_streak == 1 else "times"  # a tree may be stricter
            text = (
                f"Tools failed {state.error_streak} {times} in a row (limit {ERROR_LIMIT}). "
                "See the errors, correct what they name, then continue."
            )
            return _build_limit_notice(
                reason, text, limit_metadata("error_limit", state.error_streak, ERROR_LIMIT)
            )
        case _:
            entry = REASONS.get(reason)
            return _build_limit_notice(
                reason, f"{entry.sentence} {entry.remedy}", {"limit_type": reason}
            )


def _is_context_full(state: AgentState) -> bool:
    """Return whether the model's context ends the run, not its budget: as was said when the last
    answer began, whatever that answer has filled or used since."""
    if told := state.fired & {_BUDGET_WRAP_UP, _CONTEXT_WRAP_UP}:
        return _CONTEXT_WRAP_UP in told
    return not (state.fits_window or _is_used_up(state))


def _is_used_up(state: AgentState) -> bool:
    return state.tokens_used >= state.token_limit or state.finish_reason == "budget"


def _format_limit(name: str, used: str, *, is_used_up: bool) -> str:
    """Say that a limit ends the run, all of it used or what is left too little to go on."""
    if is_used_up:
        return f"{name} limit reached ({used}). {_CONTINUE_ADVICE}"
    return f"{name} limit reached: {used} used, and no other iteration fits. {_CONTINUE_ADVICE}"


def _no_progress_notice(state: AgentState) -> Notice:
    track = state.progress
    count, limit = {
        "identical": (track.same_results, track.rules.identical),
        "writing": (track.same_action, track.rules.writing),
    }.get(track.stuck_rule or "", (track.known_row, track.rules.known))
    what = f"same action attempted {count} times."
    if track.stuck_rule == "cycle":
        what = f"the last {count} iterations repeated earlier ones."
    return _build_limit_notice(
        "no_progress",
        f"No progress detected - {what} The limit is {limit}; the last action was "
        f"{truncate(track.last_action)}. Rephrase the question or say where to look, "
        "then continue.",
        {
            **limit_metadata("no_progress", count, limit),
            "rule": track.stuck_rule,
            "action": track.last_action,
            **({} if "loop" in state.fired else {"event": LOOP_EVENT}),
        },
    )


def _build_limit_notice(reason: str, message: str, metadata: Mapping[str, Any]) -> Notice:
    own: dict[str, SystemType] = {"no_progress": "no_progress", "error_limit": "error_limit"}
    return Notice(
        key=f"reached:{reason}",
        system_type=own.get(reason, "limit_reached"),
        message=message,
        severity="error",
        metadata=metadata,
    )


def attribute_to_tree(notice: Notice, tree: str) -> Notice:
    """Return the notice of a limit that a tree stopped the run short of: it was not reached."""
    if not tree:
        return notice
    about, used = notice.metadata, ""
    if "limit_value" in about:
        unit = "s" if about["limit_type"] == "time" else about["limit_type"]
        used = f" ({about['current_value']:,g}/{about['limit_value']:,g} {unit})"
    is_going = about.get("phase") == "wrap_up"
    then = ": answering now." if is_going else ". What was found is kept; continue to go on."
    message = f"The decision tree {tree} stopped the run{used}{then}"
    return replace(notice, message=message, metadata={**about, "tree": tree})
