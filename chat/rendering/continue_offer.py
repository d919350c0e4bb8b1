"""What a page offers under an answer that ended early: why it did, and the limit to raise."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.core.config import LIMITS, AgentConfig
from agents.core.decisions import TREES, build_guard
from agents.core.reasons import REASONS
from agents.models import AgentRun

LIMIT_FOR_REASON = {
    "max_iterations": "max_iterations",
    "token_budget": "token_budget",
    "timeout": "timeout_seconds",
}
"""Reasons that a higher limit helps against, and which one."""


@dataclass(frozen=True, slots=True)
class RaisableLimit:
    """A limit that a continuation may raise."""

    name: str
    label: str
    value: int
    minimum: int
    maximum: int


def offers(run: AgentRun, reason: str) -> dict[str, Any]:
    """Return why a run ended, and the limit to raise if that helps, for the template.

    `reason` is that of its last chunk: the row may have been read before the end.
    """
    raised = [
        RaisableLimit(name, LIMITS[name].label, value, LIMITS[name].minimum, LIMITS[name].maximum)
        for name, value in suggest_raised_limit(reason, run.config, run.tree).items()
    ]
    known = REASONS.get(reason) if reason in REASONS else None
    return {"why": known.remedy if known else "", "raised": raised[0] if raised else None}


def suggest_raised_limit(reason: str, config: Mapping[str, Any], tree: str) -> dict[str, int]:
    """Return the limit to raise, and to what, so that a limited run gets on: twice as far.

    Empty when no higher limit would help: another reason, the bound reached, a mode that holds
    the limit itself.
    """
    name = LIMIT_FOR_REASON.get(reason)
    if name is None:
        return {}
    had = int(config[name])
    raised = min(2 * had, LIMITS[name].maximum)
    return (
        {name: raised}
        if _effective_limit(tree, AgentConfig.build({name: raised}), name) > had
        else {}
    )


def _effective_limit(tree: str, config: AgentConfig, name: str) -> int:
    """Return what is left of a limit once the mode has had its say."""
    if tree not in TREES.names():
        return int(getattr(config, name))
    return int(getattr(build_guard(tree, config).config, name))
