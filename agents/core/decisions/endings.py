"""The conditions that end a run, in order of precedence.

Pure functions of the state: the default tree decides by them, the loop enforces the hard ones of
them whatever a tree says, and the audit shows what each of them measured.
"""

from collections.abc import Callable
from dataclasses import dataclass

from agents.core.chunks import Check
from agents.core.control.events import hide_personal
from agents.core.state import AgentState
from agents.core.stuck import ERROR_LIMIT

EMPTY_LIMIT = 2
PROVIDER_ERROR = "provider_error"
TIMEOUT = "timeout"
RULE_STOPPED = "rule_stopped"
BEHAVIOUR_ENDED = "behaviour_ended"
DECLINED = "declined"
NEEDS_APPROVAL = "needs_approval"
Measured = float | str | None


@dataclass(frozen=True, slots=True)
class EndCondition:
    """When a run ends for the reason `name`, and what the audit shows of it."""

    name: str
    measure: Callable[[AgentState], Measured]
    limit: Callable[[AgentState], Measured]
    fires: Callable[[AgentState], bool]
    """Apart from the two above: it is asked at every checkpoint, and they only for the audit."""
    enforced: bool = False
    """Whether it holds even against a tree that always says yes."""


END_CONDITIONS = (
    EndCondition(
        "user_cancelled",
        lambda state: float(state.cancelled),
        lambda _: None,
        lambda state: state.cancelled,
        enforced=True,
    ),
    EndCondition(
        NEEDS_APPROVAL,
        lambda state: state.held_calls,
        lambda _: 0,
        lambda state: state.held_calls > 0,
        enforced=True,
    ),
    EndCondition(
        "completed",
        lambda state: state.finish_reason,
        lambda _: "stop",
        lambda state: state.has_answered and state.wrap_up_reason is None,
    ),
    EndCondition(
        "max_iterations",
        lambda state: state.turn,
        lambda state: state.config.max_iterations,
        lambda state: state.turn >= state.config.max_iterations,
        enforced=True,
    ),
    EndCondition(
        "token_budget",
        lambda state: state.tokens_used + state.next_request,
        lambda state: state.token_limit,
        lambda state: state.is_over_budget,
        enforced=True,
    ),
    EndCondition(
        TIMEOUT,
        lambda state: round(state.elapsed_seconds, 3),
        lambda state: state.working_seconds,
        lambda state: state.elapsed_seconds >= state.working_seconds,
        enforced=True,
    ),
    EndCondition(
        RULE_STOPPED,
        lambda state: hide_personal(state.rule_stop.rule) if state.rule_stop else None,
        lambda _: None,
        lambda state: state.rule_stop is not None,
        enforced=True,
    ),
    EndCondition(
        "no_progress",
        lambda state: state.progress.stuck_rule,
        lambda _: None,
        lambda state: state.progress.stuck_rule is not None,
    ),
    EndCondition(
        "error_limit",
        lambda state: state.error_streak,
        lambda _: ERROR_LIMIT,
        lambda state: state.error_streak >= ERROR_LIMIT,
    ),
    EndCondition(
        "output_truncated",
        lambda state: state.finish_reason,
        lambda _: "length",
        lambda state: state.finish_reason == "length" and not (state.interim or state.has_branches),
        enforced=True,
    ),
    EndCondition(
        "content_filter",
        lambda state: state.finish_reason,
        lambda _: "content_filter",
        lambda state: state.finish_reason == "content_filter" and not state.has_branches,
        enforced=True,
    ),
    EndCondition(
        "empty_answer",
        lambda state: state.empty_answers,
        lambda _: EMPTY_LIMIT,
        lambda state: state.empty_answers >= EMPTY_LIMIT,
        enforced=True,
    ),
)
_RARE_CONDITIONS = frozenset({NEEDS_APPROVAL, RULE_STOPPED})
_ENFORCED_CONDITIONS = tuple(condition for condition in END_CONDITIONS if condition.enforced)


def find_end_reason(state: AgentState, *, enforced: bool = False) -> str | None:
    """Return the first condition that fires, of all or of the enforced ones, or None."""
    for condition in _ENFORCED_CONDITIONS if enforced else END_CONDITIONS:
        if condition.fires(state):
            return condition.name
    return None


def has_failed(state: AgentState) -> bool:
    """Return whether the last answer was asked for, and failed."""
    return state.finish_reason in (PROVIDER_ERROR, TIMEOUT)


def find_failed_end(state: AgentState) -> str:
    """Return why a run ends whose last answer failed: the limit that asked for that answer if it
    is really reached, else another limit that is, else the failure."""
    asked = state.wrap_up_reason or ""
    is_late = state.elapsed_seconds >= state.time_limit
    if is_late if asked == TIMEOUT else is_met(asked, state):
        return asked
    if state.turns_left == 0:
        return "max_iterations"
    if state.tokens_left == 0:
        return "token_budget"
    return TIMEOUT if is_late else state.finish_reason or PROVIDER_ERROR


def is_met(name: str, state: AgentState) -> bool:
    """Return whether a reason is an end condition that fires: a tree or a behaviour may stop a run
    for one that does not, or for one of its own."""
    return any(end.name == name and end.fires(state) for end in END_CONDITIONS)


def measure_conditions(state: AgentState) -> tuple[Check, ...]:
    """Return what every end condition measured, in order of precedence. That no rule has stopped
    the run, that it asks nobody and that no behaviour has ended is not worth a line in most."""
    found = [
        Check(end.name, end.measure(state), end.limit(state), end.fires(state))
        for end in END_CONDITIONS
        if end.name not in _RARE_CONDITIONS or end.fires(state)
    ]
    if state.asked_end not in (None, NEEDS_APPROVAL):
        found.append(Check(BEHAVIOUR_ENDED, state.asked_end, None, fired=True))
    return tuple(found)
