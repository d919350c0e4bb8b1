"""Why a run ends: the registry that chat, admin, API and command line all read.

Order of registration is order of precedence: when several reasons hold at once, the first wins
and the others are recorded beside it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from agents.core.registry import Registry

Severity = Literal["info", "warning", "error"]


class Outcome(StrEnum):
    COMPLETED = "completed"
    LIMITED = "limited"
    PAUSED = "paused"
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Reason:
    """`sentence` is what the user reads; `remedy` is what they can do about it."""

    code: str
    outcome: Outcome
    label: str
    severity: Severity
    sentence: str
    remedy: str
    wraps_up: bool = False
    """Whether the model is asked for a last answer when this reason stops its work."""


REASONS: Registry[Reason] = Registry("termination reason")
INSIDE_LIMIT = frozenset({"max_iterations", "token_budget", "timeout"})
"""Reasons whose last answer lies inside the limit, which is reached only when that has ended.
After any other reason the limit lies behind: the answer must come soon or not at all."""


def get_reason(code: str) -> Reason:
    """Return the reason with that code; one that was uninstalled since is named by its code."""
    if code in REASONS:
        return REASONS.get(code)
    return Reason(
        code,
        Outcome.FAILED,
        code,
        "error",
        "The run ended for a reason that is no longer known.",
        "Ask your administrator which package it came from.",
    )


def register_reason(
    code: str,
    outcome: Outcome,
    label: str,
    severity: Severity,
    sentence: str,
    remedy: str,
    *,
    wraps_up: bool = False,
) -> None:
    """Add a reason for which a run may end; a decision tree gives it by its code."""
    REASONS.register(code, Reason(code, outcome, label, severity, sentence, remedy, wraps_up))


register_reason(
    "user_cancelled",
    Outcome.CANCELLED,
    "Stopped",
    "info",
    "The run was stopped on request.",
    "Continue to go on from here, or ask something else.",
)
register_reason(
    "needs_approval",
    Outcome.PAUSED,
    "Asked for approval",
    "info",
    "The agent waits for your decision.",
    "Say yes, no or what to do differently; there is no hurry.",
)
register_reason(
    "completed",
    Outcome.COMPLETED,
    "Completed",
    "info",
    "The agent finished its answer.",
    "Ask a follow-up question if something is missing.",
)
register_reason(
    "declined",
    Outcome.COMPLETED,
    "Declined",
    "info",
    "You said no, and the run ended there.",
    "Ask for something else, or say what to do differently.",
)
register_reason(
    "max_iterations",
    Outcome.LIMITED,
    "Iteration limit",
    "warning",
    "The run used all its iterations.",
    "Continue, raise the number of iterations, or ask a narrower question.",
    wraps_up=True,
)
register_reason(
    "token_budget",
    Outcome.LIMITED,
    "Token budget",
    "warning",
    "The run used its token budget, or its next request would not have fitted.",
    "Continue, raise the token budget, or ask a narrower question.",
    wraps_up=True,
)
register_reason(
    "timeout",
    Outcome.LIMITED,
    "Time limit",
    "warning",
    "The run used all its time for work.",
    "Continue, raise the time limit, or ask a narrower question.",
    wraps_up=True,
)
register_reason(
    "rule_stopped",
    Outcome.LIMITED,
    "Stopped by a rule",
    "warning",
    "A rule stopped the run.",
    "Continue to go on, or change the rule in the settings.",
    wraps_up=True,
)
register_reason(
    "behaviour_ended",
    Outcome.LIMITED,
    "Behaviour ended",
    "warning",
    "The behaviour ended without an answer.",
    "Continue to go on without it, or choose another mode.",
    wraps_up=True,
)
register_reason(
    "no_progress",
    Outcome.LIMITED,
    "No progress",
    "warning",
    "The agent made no progress.",
    "Rephrase the question or say where to look, then continue.",
    wraps_up=True,
)
register_reason(
    "error_limit",
    Outcome.LIMITED,
    "Tool errors",
    "warning",
    "The agent's tools failed three times in a row.",
    "Correct what the errors name, then continue.",
    wraps_up=True,
)
register_reason(
    "output_truncated",
    Outcome.LIMITED,
    "Answer cut off",
    "warning",
    "The model reached the longest answer it can write.",
    "Continue to let it go on, or ask for a shorter answer.",
)
register_reason(
    "content_filter",
    Outcome.FAILED,
    "Content filter",
    "error",
    "The model's provider withheld the answer for its content rules.",
    "Rephrase the question, or choose another model.",
)
register_reason(
    "empty_answer",
    Outcome.FAILED,
    "Empty answer",
    "error",
    "The model answered with nothing, twice.",
    "Try again, or choose another model.",
)
register_reason(
    "provider_error",
    Outcome.FAILED,
    "Model endpoint",
    "error",
    "The model endpoint failed.",
    "See the message for what to do, then continue.",
)
register_reason(
    "interrupted",
    Outcome.FAILED,
    "Interrupted",
    "error",
    "The server stopped while the run was under way.",
    "Continue to go on from what was saved.",
)
register_reason(
    "internal_error",
    Outcome.FAILED,
    "Internal error",
    "error",
    "Something went wrong inside Oracle.",
    "Continue to try again; if it happens again, tell your administrator the run's id.",
)
