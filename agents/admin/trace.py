"""The decision trace: at each checkpoint which rules were asked, what each saw, what it said."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.admin.events import LONGEST, whole
from agents.admin.story import Checkpoint, Story
from agents.charts import label
from agents.core.reasons import REASONS

MOST = 120
"""Checkpoints that are shown: a run has one more than turns, and a turn more for the wrap-up."""
_MOST_CHECKS = 40


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule at one checkpoint."""

    code: str
    label: str
    saw: str
    limit: str
    fired: bool
    decided: bool
    """Whether the run was stopped for it."""


@dataclass(frozen=True, slots=True)
class Step:
    """One checkpoint, in words."""

    checkpoint: Checkpoint
    place: str
    verdict: str
    rules: Sequence[Rule]
    at: str

    @property
    def tone(self) -> str:
        """The outcome that its reason stands for, if the run was stopped here."""
        code = self.checkpoint.reason
        if self.checkpoint.goes_on:
            return ""
        return REASONS.get(code).outcome.value if code in REASONS else "stops"

    @property
    def id(self) -> str:
        return f"decision-{self.checkpoint.seq}"


@dataclass(frozen=True, slots=True)
class Trace:
    steps: Sequence[Step]
    left_out: int
    inner: int


def trace(story: Story, began: float) -> Trace:
    shown = story.checkpoints[:MOST]
    steps = [_step(checkpoint, began) for checkpoint in shown]
    return Trace(steps, len(story.checkpoints) - len(shown), story.inner_checkpoints)


def _step(point: Checkpoint, began: float) -> Step:
    rules = [_rule(check, point) for check in point.checks[:_MOST_CHECKS]]
    verdict = "The run goes on" if point.goes_on else f"Stopped: {label(point.reason)}"
    return Step(point, _place(point), verdict, rules, f"{max(point.at - began, 0.0):.1f} s")


def _place(point: Checkpoint) -> str:
    if point.name == "start":
        return "Before the first turn"
    if point.name == "wrap_up":
        return f"After the wrap-up, turn {point.after_turn}"
    return f"After turn {point.after_turn}"


def _rule(check: Mapping[str, Any], point: Checkpoint) -> Rule:
    code = check.get("rule")
    code = code[:LONGEST] if isinstance(code, str) else ""
    fired = check.get("fired") is True
    value, limit = check.get("value"), check.get("limit")
    if code == "user_cancelled":
        value = "yes" if whole(value) else "no"
    decided = fired and not point.goes_on and code == point.reason
    return Rule(code, label(code), words(value), words(limit), fired, decided)


def words(value: object) -> str:
    """A measured value as people read it; nothing for one that there is none of."""
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and not value.is_integer():
        return f"{value:,.1f}"
    if isinstance(value, int | float):
        return f"{whole(value):,}"
    return str(value)[:LONGEST].replace("_", " ")
