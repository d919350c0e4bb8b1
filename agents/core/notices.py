"""The words and numbers of the warnings that come before a limit is reached."""

from typing import Any

from agents.core.state import AgentState, Notice


def numbers(limit_type: str, value: float, limit: float) -> dict[str, Any]:
    return {
        "limit_type": limit_type,
        "current_value": value,
        "limit_value": limit,
        "percent": round(100 * value / limit, 1),
    }


def context_percent(state: AgentState) -> float:
    return 100 * state.context_tokens / state.context_window


def iteration_warning(state: AgentState) -> Notice:
    limit = state.config.max_iterations
    text = f"Approaching iteration limit ({state.turn}/{limit}). Consider wrapping up."
    return Notice(
        key="iterations",
        system_type="limit_warning",
        message=text,
        hint=text if limit > 2 else "",
        metadata=numbers("iterations", state.turn, limit),
    )


def token_warning(state: AgentState) -> Notice:
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
            **numbers("tokens", state.tokens_used, state.token_limit),
            "next_request": state.next_request,
        },
    )


def time_warning(state: AgentState) -> Notice:
    spent, limit = round(state.elapsed_seconds, 1), round(state.time_limit, 1)
    text = f"Approaching time limit ({spent:g}/{limit:g} s). Consider wrapping up."
    return Notice(
        key="time",
        system_type="limit_warning",
        message=text,
        hint=text,
        metadata=numbers("time", spent, limit),
    )


def context_warning(state: AgentState) -> Notice:
    text = (
        f"The conversation fills {context_percent(state):.0f} % of the model's context "
        f"({state.context_tokens:,}/{state.context_window:,} tokens). "
        "Consider wrapping up; a new conversation starts empty."
    )
    return Notice(
        key="context",
        system_type="context_warning",
        message=text,
        hint=text,
        metadata=numbers("context", state.context_tokens, state.context_window),
    )
