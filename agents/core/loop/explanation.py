"""The explanation below a limited run's answer, written by code: it reads well without a model."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.core.config import LIMITS
from agents.core.reasons import REASONS
from agents.core.sanitize import truncate
from agents.core.state import AgentState

_MAX_LISTED = 5


@dataclass(slots=True)
class RunTally:
    """What a run did, for its explanation."""

    ran: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)
    wrote_text: bool = False
    tree: str = ""
    """The tree that stopped the run on stricter grounds than its limits, if one did."""
    minimum_budget: int | None = None
    """Set when not even the bare question fitted the budget: one that would do."""
    wrap_up_error: str = ""
    """Why the last answer could not be finished, if the endpoint failed."""
    beyond_window: int | None = None
    """Set when not even the bare question fitted the model's context: its size."""


def build_explanation(reason: str, state: AgentState, run_tally: RunTally) -> str:
    """Say which limit, what was used of each, what was done, what was not, and what to do now."""
    entry = REASONS.get(reason)
    why = _describe_stop(state, run_tally) or entry.sentence
    parts = [f"**{entry.label}.** {why}", _describe_usage(state)]
    parts.append(_describe_work(run_tally))
    if reason == "error_limit" and run_tally.errors:
        parts.append("Errors:\n" + _format_bullets(list(dict.fromkeys(run_tally.errors))))
    is_stuck = reason == "no_progress" and not run_tally.tree
    if is_stuck and (action := state.progress.last_action):
        parts.append(f"Repeated: {_format_inline_code(truncate(action))}.")
    if run_tally.wrap_up_error:
        parts.append(f"The last answer could not be finished. {run_tally.wrap_up_error}")
    if run_tally.not_run:
        parts.append("Not run to the end:\n" + _format_bullets(run_tally.not_run))
    parts.append(_describe_remedy(entry.remedy, run_tally))
    return "\n\n".join(parts)


def _describe_stop(state: AgentState, run_tally: RunTally) -> str:
    """Say who has stopped the run, if it was a tree or a rule."""
    if run_tally.tree:
        return f"The decision tree {run_tally.tree} stopped the run."
    if (stop := state.rule_stop) is not None and state.termination_reason == "rule_stopped":
        return f"The rule {_format_inline_code(stop.name)} stopped the run: {stop.words}"
    return ""


def _describe_usage(state: AgentState) -> str:
    labels = {"estimate": " (estimated)", "mixed": " (partly estimated)"}
    estimated = labels.get(state.usage_source or "", "")
    return (
        f"Used: {state.turn} of {state.config.max_iterations} iterations, "
        f"{state.tokens_used:,} of {state.token_limit:,} tokens{estimated}, "
        f"{state.elapsed_seconds:.1f} of {state.time_limit:g} seconds."
    )


def _describe_work(run_tally: RunTally) -> str:
    if not run_tally.ran:
        return (
            "No tool was used."
            if run_tally.wrote_text
            else "No answer was written and no tool used."
        )
    tally = ", ".join(
        f"{name} ({count} times)" if count > 1 else name
        for name, count in run_tally.ran.most_common()
    )
    return f"Tools used: {tally}." + ("" if run_tally.wrote_text else " No answer was written.")


def _describe_remedy(remedy: str, run_tally: RunTally) -> str:
    needed = run_tally.minimum_budget
    if run_tally.beyond_window is not None:
        return (
            f"The question alone does not fit the model's context of {run_tally.beyond_window:,} "
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


def _format_bullets(lines: Sequence[str]) -> str:
    shown = [
        f"- {_format_inline_code(truncate(' '.join(line.split()), 200))}"
        for line in lines[:_MAX_LISTED]
    ]
    if len(lines) > _MAX_LISTED:
        shown.append(f"- and {len(lines) - _MAX_LISTED} more")
    return "\n".join(shown)


def _format_inline_code(text: str) -> str:
    """Format words of a model or a tool as code, so that they cannot look like ours."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence, space = "`" * (longest + 1), " " if longest else ""
    return f"{fence}{space}{text}{space}{fence}"
