"""The explanation below a limited run's answer, written by code: it reads well without a model."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.core.config import LIMITS
from agents.core.reasons import REASONS
from agents.core.rules import shortened
from agents.core.state import AgentState

_SHOWN = 5


@dataclass(slots=True)
class Deeds:
    """What a run did, for its explanation."""

    ran: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)
    wrote_text: bool = False
    smallest_budget: int | None = None
    """Set when not even the bare question fitted the budget: one that would do."""
    wrap_up_error: str = ""
    """Why the last answer could not be finished, if the endpoint failed."""
    beyond_window: int | None = None
    """Set when not even the bare question fitted the model's context: its size."""


def explanation(reason: str, state: AgentState, deeds: Deeds) -> str:
    """Which limit, what was used of each, what was done, what was not, and what to do now."""
    entry = REASONS.get(reason)
    parts = [f"**{entry.label}.** {entry.sentence}", _used(state)]
    parts.append(_done(deeds))
    if reason == "error_limit" and deeds.errors:
        parts.append("Errors:\n" + _bullets(list(dict.fromkeys(deeds.errors))))
    if reason == "no_progress" and (action := _last_action(state)):
        parts.append(f"Repeated: {_verbatim(shortened(action))}.")
    if deeds.wrap_up_error:
        parts.append(f"The last answer could not be finished. {deeds.wrap_up_error}")
    if deeds.not_run:
        parts.append("Not run to the end:\n" + _bullets(deeds.not_run))
    parts.append(_advice(entry.remedy, deeds))
    return "\n\n".join(parts)


def _used(state: AgentState) -> str:
    labels = {"estimate": " (estimated)", "mixed": " (partly estimated)"}
    estimated = labels.get(state.usage_source or "", "")
    return (
        f"Used: {state.turn} of {state.config.max_iterations} turns, "
        f"{state.tokens_used:,} of {state.token_limit:,} tokens{estimated}, "
        f"{state.elapsed_seconds:.1f} of {state.time_limit:g} seconds."
    )


def _done(deeds: Deeds) -> str:
    if not deeds.ran:
        return (
            "No tool was used." if deeds.wrote_text else "No answer was written and no tool used."
        )
    tally = ", ".join(
        f"{name} ({count} times)" if count > 1 else name for name, count in deeds.ran.most_common()
    )
    return f"Tools used: {tally}." + ("" if deeds.wrote_text else " No answer was written.")


def _advice(remedy: str, deeds: Deeds) -> str:
    needed = deeds.smallest_budget
    if deeds.beyond_window is not None:
        return (
            f"The question alone does not fit the model's context of {deeds.beyond_window:,} "
            "tokens. Ask a shorter question, or choose a model with a larger context."
        )
    if needed is None:
        return remedy
    if needed > LIMITS["token_budget"].maximum:
        return (
            f"The question alone needs about {needed:,} tokens, more than a run may have. "
            "Ask a shorter question."
        )
    return f"The smallest token budget that would do is about {needed:,}. Raise it, then continue."


def _last_action(state: AgentState) -> str:
    return next((action for action in reversed(state.track.recent) if action), "")


def _bullets(lines: Sequence[str]) -> str:
    shown = [f"- {_verbatim(shortened(' '.join(line.split()), 200))}" for line in lines[:_SHOWN]]
    if len(lines) > _SHOWN:
        shown.append(f"- and {len(lines) - _SHOWN} more")
    return "\n".join(shown)


def _verbatim(text: str) -> str:
    """Words of a model or a tool inside ours: as code, so that they cannot look like ours."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence, space = "`" * (longest + 1), " " if longest else ""
    return f"{fence}{space}{text}{space}{fence}"
