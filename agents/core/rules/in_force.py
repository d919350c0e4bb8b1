"""A rule while a run goes on, and the moments at which it looks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agents.core.control.condition import FalsePart
from agents.core.control.evaluation import Evaluation
from agents.core.control.events import AgentEvent
from agents.core.rules.outcomes import NotFired, RuleFailure
from agents.core.rules.rule import Rule, RuleLevel
from agents.core.rules.steps import MAX_EVENT_STEPS, share_steps
from agents.core.rules.vocabulary import find_listening

MAX_FAILURES = 3
"""After so many, a broken rule is off for the rest of the run."""


class Moment(Evaluation):
    """An event that rules look at: the facts as they are, and the rules that led to it."""

    __slots__ = ("chain", "context", "event", "turn")

    def __init__(self, event: AgentEvent, chain: tuple[str, ...], context: dict[str, Any]) -> None:
        self.values = self.context = context
        self.steps, self.item = 0, None
        self.event, self.chain = event, chain
        self.turn: int = context["turn"]["number"]


@dataclass(slots=True, eq=False)
class RuleInForce:
    """A rule in one run: what it remembers, and what it has done so far."""

    rule: Rule
    key: str
    state: dict[str, Any]
    max_firings: int
    firings: int = 0
    failures: int = 0
    last_look: tuple[int, int, tuple[str, tuple[Any, ...]]] | None = None
    """When it last looked and did not fire, and why not, in parts: few are ever asked for."""

    @property
    def why_not(self) -> NotFired | None:
        if self.last_look is None:
            return None
        seq, turn, part = self.last_look
        return NotFired(seq, turn, FalsePart(*part))

    def fail(self, moment: Moment, problem: str) -> RuleFailure:
        """Return that the rule could not be answered. After a few times, it looks no more."""
        self.failures += 1
        is_off = self.failures >= MAX_FAILURES
        if is_off:
            self.max_firings = 0
        return RuleFailure(
            rule=self.rule,
            event=moment.event.name,
            seq=moment.event.seq,
            turn=moment.turn,
            problem=problem,
            is_off=is_off,
        )


Listener = tuple[RuleInForce, int, int]
"""A rule, how many of its level from it on listen too, and the steps that it may take while none
of them has taken any."""


class Listeners(dict[str, tuple[Listener, ...]]):
    """The rules that listen to an event, by its name. They are found when one is wanted first."""

    def __init__(self, rules: Sequence[RuleInForce]) -> None:
        super().__init__()
        self._rules = rules
        self._patterns = tuple(each.rule.events for each in rules)

    def __missing__(self, name: str) -> tuple[Listener, ...]:
        counts: dict[RuleLevel, int] = {}
        found = []
        for at in reversed(find_listening(self._patterns, name)):
            each = self._rules[at]
            level = each.rule.level
            counts[level] = counts.get(level, 0) + 1
            found.append((each, counts[level], share_steps(MAX_EVENT_STEPS, counts[level])))
        known = self[name] = tuple(reversed(found))
        return known
