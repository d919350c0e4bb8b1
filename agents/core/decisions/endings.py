"""The rules that end a run, in order of precedence, and when each warning before them is due.

Pure functions of the state: the default tree decides by them, the loop enforces the hard ones of
them whatever a tree says, and the audit shows what each of them measured.
"""

from collections.abc import Callable, Mapping

from agents.core.chunks import Check
from agents.core.state import AgentState
from agents.core.stuck import ERROR_LIMIT

EMPTY_LIMIT = 2

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


END_CONDITIONS: Mapping[str, Callable[[AgentState], bool]] = {
    "user_cancelled": lambda state: state.cancelled,
    "completed": lambda state: state.finish_reason == "stop" and state.wrap_up_reason is None,
    "max_iterations": lambda state: state.turn >= state.config.max_iterations,
    "token_budget": lambda state: state.is_over_budget,
    "timeout": lambda state: state.elapsed_seconds >= state.working_seconds,
    "no_progress": lambda state: state.progress.stuck_rule is not None,
    "error_limit": lambda state: state.error_streak >= ERROR_LIMIT,
    "output_truncated": lambda state: state.finish_reason == "length",
    "content_filter": lambda state: state.finish_reason == "content_filter",
    "empty_answer": lambda state: state.empty_answers >= EMPTY_LIMIT,
}
"""When each rule fires, in order of precedence."""
_ENFORCED_CONDITIONS = {rule: fires for rule, fires in END_CONDITIONS.items() if rule in ENFORCED}


def find_end_reason(state: AgentState, *, enforced: bool = False) -> str | None:
    """The first rule that fires, of all or of the enforced ones: cheaper than all the checks."""
    for rule, fires in (_ENFORCED_CONDITIONS if enforced else END_CONDITIONS).items():
        if fires(state):
            return rule
    return None


def measure_conditions(state: AgentState) -> tuple[Check, ...]:
    """Every rule with what it measured, in order of precedence."""
    finish = state.finish_reason
    measured: dict[str, tuple[float | str | None, float | str | None]] = {
        "user_cancelled": (float(state.cancelled), None),
        "completed": (finish, "stop"),
        "max_iterations": (state.turn, state.config.max_iterations),
        "token_budget": (state.tokens_used + state.next_request, state.token_limit),
        "timeout": (round(state.elapsed_seconds, 3), state.working_seconds),
        "no_progress": (state.progress.stuck_rule, None),
        "error_limit": (state.error_streak, ERROR_LIMIT),
        "output_truncated": (finish, "length"),
        "content_filter": (finish, "content_filter"),
        "empty_answer": (state.empty_answers, EMPTY_LIMIT),
    }
    return tuple(
        Check(rule, *measured[rule], fires(state)) for rule, fires in END_CONDITIONS.items()
    )
