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


def reason_of(code: str) -> Reason:
    """The reason with that code; one that was uninstalled since is named by its code."""
    if code in REASONS:
        return REASONS.get(code)
    return Reason(
        code,
        Outcome.FAILED,
        code,
        "error",
        "The run ended for a reason that is not known here any more.",
        "Ask your administrator which package it came from.",
    )


def _add(
    code: str,
    outcome: Outcome,
    label: str,
    severity: Severity,
    sentence: str,
    remedy: str,
    *,
    wraps_up: bool = False,
) -> None:
    REASONS.register(code, Reason(code, outcome, label, severity, sentence, remedy, wraps_up))


_add(
    "user_cancelled",
    Outcome.CANCELLED,
    "Stopped",
    "info",
    "The run was stopped on request.",
    "Continue to go on from here, or ask something else.",
)
_add(
    "completed",
    Outcome.COMPLETED,
    "Completed",
    "info",
    "The agent finished its answer.",
    "Nothing to do.",
)
_add(
    "max_iterations",
    Outcome.LIMITED,
    "Turn limit",
    "warning",
    "The run used all its turns.",
    "Continue, raise the number of turns, or ask a narrower question.",
    wraps_up=True,
)
_add(
    "token_budget",
    Outcome.LIMITED,
    "Token budget",
    "warning",
    "The run used its token budget, or its next request would not have fitted.",
    "Continue, raise the token budget, or ask a narrower question.",
    wraps_up=True,
)
_add(
    "timeout",
    Outcome.LIMITED,
    "Time limit",
    "warning",
    "The run used all its time.",
    "Continue, raise the time limit, or ask a narrower question.",
    wraps_up=True,
)
_add(
    "no_progress",
    Outcome.LIMITED,
    "No progress",
    "warning",
    "The agent repeated itself without learning anything new.",
    "Rephrase the question or say where to look, then continue.",
    wraps_up=True,
)
_add(
    "error_limit",
    Outcome.LIMITED,
    "Tool errors",
    "warning",
    "The agent's tools failed three turns in a row.",
    "Correct what the errors name, then continue.",
    wraps_up=True,
)
_add(
    "output_truncated",
    Outcome.LIMITED,
    "Answer cut off",
    "warning",
    "The model reached the longest answer it can write.",
    "Continue to let it go on, or ask for a shorter answer.",
)
_add(
    "content_filter",
    Outcome.FAILED,
    "Content filter",
    "error",
    "The model's provider withheld the answer for its content rules.",
    "Rephrase the question, or choose another model.",
)
_add(
    "empty_answer",
    Outcome.FAILED,
    "Empty answer",
    "error",
    "The model answered with nothing, twice.",
    "Try again, or choose another model.",
)
_add(
    "provider_error",
    Outcome.FAILED,
    "Model endpoint",
    "error",
    "The model endpoint failed.",
    "See the message for what to do, then continue.",
)
_add(
    "interrupted",
    Outcome.FAILED,
    "Interrupted",
    "error",
    "The server stopped while the run was under way.",
    "Continue to go on from what was saved.",
)
_add(
    "internal_error",
    Outcome.FAILED,
    "Internal error",
    "error",
    "Something went wrong inside Oracle.",
    "Continue to try again; if it happens again, tell your administrator the run's id.",
)
