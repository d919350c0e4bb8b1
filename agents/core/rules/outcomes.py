"""What comes of a rule that looks at an event: it fires, fails, or does not fire."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agents.core.control.condition import FalsePart
from agents.core.rules.rule import Rule, RuleAction


@dataclass(frozen=True, slots=True)
class Effect:
    """One action of a rule that fired, and what it says or changes in words."""

    action: RuleAction
    words: str

    def __str__(self) -> str:
        return f"{self.action.type}: {self.words}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Firing:
    """A rule that fired: on which event, in which turn, after which other rules."""

    rule: Rule
    event: str
    seq: int
    turn: int
    effects: tuple[Effect, ...]
    chain: tuple[str, ...] = ()
    changes: Mapping[str, Any] = field(default_factory=dict)
    """What it remembers anew."""

    @property
    def is_shadow(self) -> bool:
        """Whether it is only recorded."""
        return self.rule.mode == "shadow"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleFailure:
    """A rule that could not say whether it fires, or do what it says; and whether it is off now."""

    rule: Rule
    event: str
    seq: int
    turn: int
    problem: str
    is_off: bool


RuleOutcome = Firing | RuleFailure


class NotFired(NamedTuple):
    """Why a rule did not fire when it last looked."""

    seq: int
    turn: int
    part: FalsePart
