"""A rule while a run goes on, and the moments at which it looks."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from agents.core.control.condition import FalsePart, Glance, describe_false_part
from agents.core.control.evaluation import Evaluation
from agents.core.control.events import AgentEvent
from agents.core.rules.outcomes import NotFired, RuleFailure
from agents.core.rules.rule import Rule, RuleLevel, choose_rules
from agents.core.rules.steps import MAX_EVENT_STEPS, share_steps
from agents.core.rules.vocabulary import listens_to
from agents.core.sanitize import replace_unstorable

MAX_RULES = 100
MAX_FIRINGS = 20
"""Of one rule in one run."""
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
    glance: Glance | None
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

    def describe_silence(self) -> dict[str, Any] | None:
        """Return what is recorded of a rule that has looked and never fired: when it last did not,
        and why. It can be stored, whatever was written or looked at."""
        if self.firings or self.last_look is None:
            return None
        seq, turn, part = self.last_look
        return {
            "rule": self.key,
            "name": replace_unstorable(self.rule.name),
            "turn": turn,
            "seq": seq,
            "why": replace_unstorable(describe_false_part(*part)),
        }

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


class Listener(NamedTuple):
    """A rule that listens to an event, by its place among those in force."""

    place: int
    rules_left: int
    """How many of its level from it on listen too."""
    steps: int
    """What it may take while none of them has taken any."""


class Listeners(NamedTuple):
    """The rules that listen to an event, and what they look at of that which events change."""

    rules: tuple[Listener, ...]
    parts: frozenset[str]


class RuleSet(dict[str, Listeners]):
    """Rules that are in force together, with who listens to an event, by its name: found when that
    is first wanted. Runs with the same rules share it, and nothing of a run is in it."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        super().__init__()
        in_force = choose_rules(rules, MAX_RULES)
        self.rules = tuple(
            (
                rule,
                rule.key,
                1 if rule.fires_once else MAX_FIRINGS,
                rule.condition.glance if rule.condition is not None else None,
            )
            for rule in in_force
        )
        """Each with its key, how often it may fire, and what may tell that it does not."""
        self.is_asking_bound = any(rule.is_binding and rule.asks_again for rule in in_force)
        """Whether the one answer that can be sent back is for a rule that binds."""

    def __missing__(self, name: str) -> Listeners:
        counts: dict[RuleLevel, int] = {}
        found, parts = [], set[str]()
        for place, (rule, *_) in reversed([*enumerate(self.rules)]):
            if listens_to(rule.events, name):
                left = counts[rule.level] = counts.get(rule.level, 0) + 1
                found.append(Listener(place, left, share_steps(MAX_EVENT_STEPS, left)))
                parts |= rule.parts
        known = self[name] = Listeners(tuple(reversed(found)), frozenset(parts))
        return known


@lru_cache(maxsize=256)
def build_rule_set(rules: tuple[Rule, ...]) -> RuleSet:
    """Return the set of rules, which is built once for the same ones."""
    return RuleSet(rules)
