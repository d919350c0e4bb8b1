"""The numbers of every notice about a limit: before it, at its last answer, at its end.

Which words are said is data (`notify.shipped`); which of them are right is decided here.

A limit is approached (phase `approach`), then, if there is room, one last answer is asked for
(phase `wrap_up`), and only when the run ends is the limit reached.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agents.core.chunks import SystemType
from agents.core.control.events import is_personal
from agents.core.notify.shipped import LOOP
from agents.core.notify.words import build_loop_notice
from agents.core.reasons import REASONS
from agents.core.sanitize import quote_as_data, truncate
from agents.core.state import AgentState, Notice, RuleStop
from agents.core.stuck import ERROR_LIMIT, LOOP_COUNT, LOOP_WINDOW, digest

LOOP_EVENT = "agent.loop.detected"
"""Recorded once a run: before the third batch of one pattern, or by the notice that ends a run
which goes round in a larger circle."""
REPEATED_EVENT = "agent.turn.repeated"
_BUDGET_WRAP_UP, _CONTEXT_WRAP_UP = "wrap_up:token_budget", "wrap_up:context"


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


def _build_warning(key: str, about: Mapping[str, Any], variant: str = "", **more: Any) -> Notice:
    """Return what is said of a limit ahead; `more` are numbers for its words."""
    values = {"current": about["current_value"], "limit": about["limit_value"], **more}
    metadata = {**about, "phase": "approach"}
    return build_loop_notice(LOOP[key], key, values, metadata, variant=variant)


def iteration_warning(state: AgentState) -> Notice:
    about = limit_metadata("iterations", state.turn, state.config.max_iterations)
    return _build_warning("iterations", about)


def token_warning(state: AgentState) -> Notice:
    """Warn of the budget. One that is over already was crossed at once, and is not approached."""
    at_once, variant = state.is_budget_spent, ""
    if at_once:
        variant = _find_sudden_overrun(state)
    elif state.token_percent < state.config.token_warning_percent:
        variant = "forecast"
    about = {
        **limit_metadata("tokens", state.tokens_used, state.token_limit),
        "next_request": state.next_request,
        "at_once": at_once,
    }
    return _build_warning(
        "tokens", about, variant, forecast=state.two_requests, next_request=state.next_request
    )


def _find_sudden_overrun(state: AgentState) -> str:
    if not state.turn:
        return "long prompt"
    return "long answer" if state.finish_reason == "budget" else "long iteration"


def time_warning(state: AgentState) -> Notice:
    spent, limit = _round_elapsed(state)
    about = limit_metadata("time", spent, limit)
    return _build_warning("time", about, "long step" if spent >= limit else "")


def context_warning(state: AgentState) -> Notice:
    about = limit_metadata("context", state.context_tokens, state.context_window)
    return _build_warning("context", about, filled=round(state.context_percent))


# -- repeating ------------------------------------------------------------------------------------


def repetition_warnings(state: AgentState) -> list[Notice]:
    """Return what to say of an action that was done before: to the model, then to the user."""
    track, due = state.progress, []
    action = track.recent[-1] if track.recent else ""
    if action and track.same_results >= 2:
        is_last = track.same_results + 1 == track.rules.identical
        about = {
            "event": REPEATED_EVENT,
            "count": track.same_results,
            "digest": digest(action),
            "action": action,
        }
        key = f"repeated:{digest(action)}"
        variant = "last" if is_last else ""
        due.append(build_loop_notice(LOOP["repeated"], key, {}, about, variant=variant))
    if track.is_looping:
        due.append(_loop_warning(action, track.same_pattern))
    return due


def _loop_warning(action: str, count: int) -> Notice:
    about = limit_metadata("no_progress", count, LOOP_COUNT)
    values = {
        "current": count,
        "limit": LOOP_COUNT,
        "window": LOOP_WINDOW,
        "action": truncate(action),
    }
    return build_loop_notice(LOOP["loop"], "loop", values, {**about, "action": action})


# -- the last answer ------------------------------------------------------------------------------


def wrap_up_notice(reason: str, state: AgentState) -> Notice:
    """Say that the run answers now, because a limit that lies ahead leaves room for no more."""
    key, advice = f"wrap_up:{reason}", "Raise the limit for longer work."
    match reason:
        case "max_iterations":
            last, limit = state.turn + 1, state.config.max_iterations
            text, about = (
                f"Last iteration ({last}/{limit})",
                limit_metadata("iterations", last, limit),
            )
        case "token_budget" if not state.fits_window:
            key, advice = _CONTEXT_WRAP_UP, "A new conversation starts empty."
            text = f"The model's context is nearly full ({_format_context(state)})"
            about = limit_metadata("context", state.context_tokens, state.context_window)
        case "token_budget":
            text = f"Token budget nearly used ({_format_tokens(state)})"
            is_early = state.token_percent < state.config.token_warning_percent
            if is_early and state.finish_reason != "budget":
                text = (
                    f"The token budget has no room for another iteration ({_format_tokens(state)}; "
                    f"it and the answer need about {state.next_request:,})"
                )
            about = limit_metadata("tokens", state.tokens_used, state.token_limit)
        case _:
            spent, limit_s = _round_elapsed(state)
            text = f"Time nearly used ({spent:g}/{limit_s:g} s)"
            about = limit_metadata("time", spent, limit_s)
    return Notice(
        key=key,
        system_type="limit_warning",
        message=f"{text}: answering now. {advice}",
        metadata={**about, "phase": "wrap_up"},
    )


# -- the end --------------------------------------------------------------------------------------


def limit_notice(reason: str, state: AgentState) -> Notice:
    """Say that a limit has been reached: which, what was used of it, what to do."""
    match reason:
        case "max_iterations":
            about = limit_metadata("iterations", state.turn, state.config.max_iterations)
            return _build_limit_notice(reason, about, "iterations")
        case "token_budget" if _is_context_full(state):
            about = limit_metadata("context", state.context_tokens, state.context_window)
            return _build_limit_notice(reason, {**about, "cause": "context"}, "context")
        case "token_budget":
            return _token_notice(state)
        case "timeout":
            spent, limit = _round_elapsed(state)
            about = limit_metadata("time", spent, limit)
            return _build_limit_notice(reason, about, "time" if spent >= limit else "time forecast")
        case "no_progress" if state.progress.stuck_rule:
            return _no_progress_notice(state)
        case "error_limit" if state.error_streak:
            about = limit_metadata("error_limit", state.error_streak, ERROR_LIMIT)
            is_one = state.error_streak == 1  # a tree may be stricter
            return _build_limit_notice(reason, about, "error" if is_one else "errors")
        case "rule_stopped" if state.rule_stop:
            return _rule_stop_notice(state.rule_stop)
        case _:
            return _build_limit_notice(reason, {"limit_type": reason})


def _is_context_full(state: AgentState) -> bool:
    """Return whether the model's context ends the run, not its budget: as was said when the last
    answer began, whatever that answer has filled or used since."""
    if told := state.fired & {_BUDGET_WRAP_UP, _CONTEXT_WRAP_UP}:
        return _CONTEXT_WRAP_UP in told
    return not (state.fits_window or _is_used_up(state))


def _is_used_up(state: AgentState) -> bool:
    return state.tokens_used >= state.token_limit or state.finish_reason == "budget"


def _token_notice(state: AgentState) -> Notice:
    """Say that the budget is spent, or that it cannot hold the next request."""
    about = limit_metadata("tokens", state.tokens_used, state.token_limit)
    if _is_used_up(state):
        return _build_limit_notice("token_budget", {**about, "cause": "spent"}, "tokens")
    about = {**about, "cause": "forecast", "needed": state.next_request}
    numbers = {"left": state.tokens_left, "next_request": state.next_request}
    return _build_limit_notice("token_budget", about, "tokens forecast", **numbers)


def _no_progress_notice(state: AgentState) -> Notice:
    track = state.progress
    count, limit = {
        "identical": (track.same_results, track.rules.identical),
        "writing": (track.same_action, track.rules.writing),
        "answers": (track.answers[1], track.rules.answers),
    }.get(track.stuck_rule or "", (track.known_row, track.rules.known))
    about = {
        **limit_metadata("no_progress", count, limit),
        "rule": track.stuck_rule,
        "action": track.last_action,
        **({} if track.is_looping or "loop" in state.fired else {"event": LOOP_EVENT}),
    }
    rule = track.stuck_rule or ""
    variant = {"cycle": "cycle", "answers": "same answers"}.get(rule, "same action")
    return _build_limit_notice("no_progress", about, variant)


def name_rule(key: str) -> dict[str, str]:
    """Return how a notice names a rule: somebody's own one is named where it can be erased."""
    return {"own_rule" if is_personal(key) else "rule": key}


def _rule_stop_notice(stop: RuleStop) -> Notice:
    about = {"limit_type": "rule_stopped", **name_rule(stop.rule)}
    return _build_limit_notice(
        "rule_stopped", about, "rule", rule=quote_as_data(stop.name), said=stop.words
    )


def _build_limit_notice(
    reason: str, about: Mapping[str, Any], variant: str = "", **more: Any
) -> Notice:
    """Return what is said of a limit that ends the run; without numbers, what its reason says."""
    own: dict[str, SystemType] = {"no_progress": "no_progress", "error_limit": "error_limit"}
    entry = REASONS.get(reason)
    values = {
        "current": about.get("current_value"),
        "limit": about.get("limit_value"),
        "action": truncate(about.get("action", "")),
        "sentence": entry.sentence,
        "remedy": entry.remedy,
        **more,
    }
    notice = build_loop_notice(
        LOOP["reached"], f"reached:{reason}", values, about, variant=variant, severity="error"
    )
    return replace(notice, system_type=own.get(reason, notice.system_type))


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
