"""The decision trace: at each checkpoint which rules were asked, what each saw, what it said."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.admin.run.event_rows import MAX_TEXT_LENGTH, safe_int
from agents.admin.run.history import Checkpoint, RunHistory
from agents.core.reasons import REASONS
from agents.web.reason_labels import reason_label

MAX_CHECKPOINTS = 120
"""Checkpoints that are shown: a run has one more than turns, and a turn more for the wrap-up."""
_MAX_CHECKS = 40


@dataclass(frozen=True, slots=True)
class RuleResult:
    """One rule at one checkpoint."""

    code: str
    label: str
    saw: str
    limit: str
    fired: bool
    decided: bool
    """Whether the run was stopped for it."""


@dataclass(frozen=True, slots=True)
class DecisionStep:
    """One checkpoint, in words."""

    checkpoint: Checkpoint
    location: str
    verdict: str
    rules: Sequence[RuleResult]
    at: str

    @property
    def css_class(self) -> str:
        """The outcome that its reason stands for, if the run was stopped here."""
        code = self.checkpoint.reason
        if self.checkpoint.goes_on:
            return ""
        return REASONS.get(code).outcome.value if code in REASONS else "stops"

    @property
    def id(self) -> str:
        return f"decision-{self.checkpoint.seq}"


@dataclass(frozen=True, slots=True)
class DecisionTrace:
    steps: Sequence[DecisionStep]
    left_out: int
    subagent_decisions: int


def build_trace(history: RunHistory, began: float) -> DecisionTrace:
    shown = history.checkpoints[:MAX_CHECKPOINTS]
    steps = [_build_step(checkpoint, began) for checkpoint in shown]
    return DecisionTrace(steps, len(history.checkpoints) - len(shown), history.subagent_checkpoints)


def _build_step(point: Checkpoint, began: float) -> DecisionStep:
    rules = [_build_rule_result(check, point) for check in point.checks[:_MAX_CHECKS]]
    verdict = "The run continues" if point.goes_on else f"Stopped: {reason_label(point.reason)}"
    return DecisionStep(
        point, _describe_location(point), verdict, rules, f"{max(point.at - began, 0.0):.1f} s"
    )


def _describe_location(point: Checkpoint) -> str:
    if point.name == "start":
        return "Before the first iteration"
    if point.name == "wrap_up":
        return f"After the wrap-up, iteration {point.after_turn}"
    return f"After iteration {point.after_turn}"


def _build_rule_result(check: Mapping[str, Any], point: Checkpoint) -> RuleResult:
    code = check.get("rule")
    code = code[:MAX_TEXT_LENGTH] if isinstance(code, str) else ""
    fired = check.get("fired") is True
    value, limit = check.get("value"), check.get("limit")
    if code == "user_cancelled":
        value = "yes" if safe_int(value) else "no"
    decided = fired and not point.goes_on and code == point.reason
    return RuleResult(
        code, reason_label(code), format_value(value), format_value(limit), fired, decided
    )


def format_value(value: object) -> str:
    """Return a measured value as people read it; nothing for one that there is none of."""
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and not value.is_integer():
        return f"{value:,.1f}"
    if isinstance(value, int | float):
        return f"{safe_int(value):,}"
    return str(value)[:MAX_TEXT_LENGTH].replace("_", " ")
