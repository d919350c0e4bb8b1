"""Which rules fire on an event, and what they do. Pure: it says what is to be done, and does none.

No set of rules makes a run endless: a rule never sees an event that it had a part in, chains are
short, and every rule and every run have only so many firings.
"""

import json
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, assert_never

from agents.core.control import Unanswerable
from agents.core.control.condition import FalsePart
from agents.core.control.events import AgentEvent, EventType, quote_texts
from agents.core.control.facts import OWN_PREFIX, Facts
from agents.core.rules.rule import (
    LEVELS,
    AskAgain,
    EmitEvent,
    Log,
    Notify,
    Rule,
    RuleAction,
    RuleLevel,
    SetState,
    StopRun,
    Withhold,
    choose_rules,
    encode_value,
)
from agents.core.rules.vocabulary import listens_to
from agents.core.sanitize import bound_sentence

MAX_RULES = 100
MAX_FIRINGS = 20
"""Of one rule in one run."""
MAX_EFFECTS = 100
"""Of all rules in one run."""
MAX_SHARES: Mapping[RuleLevel, int] = {"project": 40, "own": 40}
"""Of these levels: nobody's rules can use up what those above them may do."""
MAX_CHAIN = 3
"""Rules that may have led to an event, one by the other."""
MAX_FAILURES = 3
"""After so many, a broken rule is off for the rest of the run."""
MAX_STATE_KEYS = 50
OWN_EVENT = EventType("info", "rule", {})
"""What is known beforehand of an event that a rule emits."""
_NO_STATES: Mapping[str, Mapping[str, Any]] = {}
_NOTHING: list[Any] = []


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


class NotFired(NamedTuple):
    """Why a rule did not fire when it last looked."""

    seq: int
    turn: int
    part: FalsePart


@dataclass(slots=True, eq=False)
class _RuleInForce:
    """A rule in one run: what it remembers, and what it has done so far."""

    rule: Rule
    key: str
    state: dict[str, Any]
    max_firings: int
    firings: int = 0
    failures: int = 0
    why_not: NotFired | None = None


class RuleEngine:
    """The rules in force in one run, what each has done so far, and what each remembers."""

    def __init__(
        self, rules: Iterable[Rule], states: Mapping[str, Mapping[str, Any]] = _NO_STATES
    ) -> None:
        in_force = choose_rules(rules, MAX_RULES)
        self._rules = [
            _RuleInForce(
                rule, rule.key, dict(states.get(rule.key, {})), 1 if rule.once else MAX_FIRINGS
            )
            for rule in in_force
        ]
        self._effects = 0
        self._shares = dict.fromkeys(LEVELS, 0)
        """How many of them are of each level."""
        self._has_asked_again = False
        self._is_asking_bound = any(rule.is_binding and rule.asks_again for rule in in_force)
        """Whether the one answer that can be sent back is for a rule that binds."""
        self._listeners: dict[str, tuple[_RuleInForce, ...]] = {}

    @property
    def states(self) -> dict[str, dict[str, Any]]:
        """What each rule remembers, by its key."""
        return {each.key: each.state for each in self._rules}

    @property
    def why_not(self) -> dict[str, NotFired]:
        """Why rules did not fire when they last looked, by their keys."""
        return {each.key: each.why_not for each in self._rules if each.why_not is not None}

    def list_not_fired(self) -> list[tuple[Rule, NotFired]]:
        """Return the rules that looked and never fired, each with why."""
        return [
            (each.rule, each.why_not)
            for each in self._rules
            if each.why_not is not None and not each.firings
        ]

    def feed(self, facts: Facts, event: AgentEvent) -> list[Firing | RuleFailure]:
        """Return what the rules do about an event and about what they emit, in order."""
        listeners = self._listeners.get(event.name)
        if listeners is None:
            listeners = self._find_listeners(event.name)
        if not listeners or event.name.startswith(OWN_PREFIX):
            return _NOTHING  # an own event was looked at when it was made
        found: list[Firing | RuleFailure] = []
        events: deque[tuple[AgentEvent, tuple[str, ...]]] = deque()
        self._look(facts, event, (), found, events)
        while events:
            self._look(facts, *events.popleft(), found, events)
        return found

    def _look(
        self,
        facts: Facts,
        event: AgentEvent,
        chain: tuple[str, ...],
        found: list[Firing | RuleFailure],
        events: deque[tuple[AgentEvent, tuple[str, ...]]],
    ) -> None:
        """Let every rule that listens to an event look at it."""
        context: dict[str, Any] | None = None
        for each in self._find_listeners(event.name):
            if each.firings >= each.max_firings or each.key in chain or self._is_spent(each):
                continue
            context = facts.build_context(event) if context is None else context
            outcome = self._try(each, context, event, chain)
            if outcome is None:
                continue
            found.append(outcome)
            if isinstance(outcome, Firing) and not outcome.is_shadow:
                events.extend(_emit_events(outcome, event))

    def _try(
        self,
        each: _RuleInForce,
        context: dict[str, Any],
        event: AgentEvent,
        chain: tuple[str, ...],
    ) -> Firing | RuleFailure | None:
        """Return what comes of a rule. What it remembers changes only if all of it goes well."""
        rule, turn = each.rule, context["turn"]["number"]
        context["state"] = each.state
        try:
            part = rule.condition.find_false_part(context) if rule.condition else None
            if part is not None:
                each.why_not = NotFired(event.seq, turn, part)
                return None
            context["state"] = state = dict(each.state)
            effects = self._perform(rule, context, event, state)
        except Unanswerable as error:
            each.failures += 1
            return RuleFailure(
                rule=rule,
                event=event.name,
                seq=event.seq,
                turn=turn,
                problem=error.problem.message,
                is_off=each.failures >= MAX_FAILURES,
            )
        each.why_not, each.state = None, state
        each.firings += 1
        self._effects += len(effects)
        self._shares[rule.level] += len(effects)
        self._has_asked_again |= any(isinstance(one.action, AskAgain) for one in effects)
        return Firing(
            rule=rule,
            event=event.name,
            seq=event.seq,
            turn=turn,
            effects=effects,
            chain=chain,
            changes={
                one.action.key: state[one.action.key]
                for one in effects
                if isinstance(one.action, SetState)
            },
        )

    def _find_listeners(self, name: str) -> tuple[_RuleInForce, ...]:
        if (found := self._listeners.get(name)) is None:
            found = tuple(each for each in self._rules if listens_to(each.rule.events, name))
            self._listeners[name] = found
        return found

    def _is_spent(self, each: _RuleInForce) -> bool:
        level, more = each.rule.level, len(each.rule.actions)
        return (
            each.failures >= MAX_FAILURES
            or self._effects + more > MAX_EFFECTS
            or self._shares[level] + more > MAX_SHARES.get(level, MAX_EFFECTS)
        )

    # -- what a rule does -------------------------------------------------------------------------

    def _perform(
        self, rule: Rule, context: Mapping[str, Any], event: AgentEvent, state: dict[str, Any]
    ) -> tuple[Effect, ...]:
        """Return what the actions come to. They see what those before them remembered."""
        effects = []
        values = {**context["event"]["payload"], **quote_texts(event)}
        for action in rule.actions:
            if isinstance(action, AskAgain) and not self._may_ask_again(rule, context["turn"]):
                continue
            effects.append(Effect(action, _describe_action(action, context, values, state)))
        return tuple(effects)

    def _may_ask_again(self, rule: Rule, turn: Mapping[str, Any]) -> bool:
        """Return whether there is an answer that a rule can send back: once in a run."""
        if self._has_asked_again or (self._is_asking_bound and not rule.is_binding):
            return False
        return turn["answered"] and not turn["is_wrap_up"]


def _describe_action(
    action: RuleAction,
    context: Mapping[str, Any],
    values: Mapping[str, Any],
    state: dict[str, Any],
) -> str:
    """Return what an action says or changes. What is not ours is quoted in it, on one line."""
    match action:
        case Notify() | Log() | StopRun() | AskAgain():
            return bound_sentence(action.message.render(values, str))
        case SetState():
            value = action.expression.evaluate(context) if action.expression else action.value
            return f"{action.key} = {_remember(state, action.key, value)}"
        case EmitEvent():
            return action.event
        case Withhold():
            return action.tool
        case _:
            assert_never(action)


def _remember(state: dict[str, Any], key: str, value: Any) -> str:
    """Put a copy of a value into what a rule remembers, and return it as JSON."""
    try:
        text = encode_value(value)
    except ValueError as error:
        raise Unanswerable((1, 1), str(error)) from None
    state[key] = json.loads(text)
    if len(state) > MAX_STATE_KEYS:
        raise Unanswerable((1, 1), f"more than {MAX_STATE_KEYS} values cannot be remembered")
    return text


def _emit_events(firing: Firing, event: AgentEvent) -> Iterable[tuple[AgentEvent, tuple[str, ...]]]:
    """Yield the events that a rule emits, with the rules that led to them."""
    chain = (*firing.chain, firing.rule.key)
    if len(chain) > MAX_CHAIN:
        return
    for effect in firing.effects:
        if isinstance(effect.action, EmitEvent):
            about = effect.action
            yield AgentEvent(about.event, event.seq, event.at, about.payload, OWN_EVENT), chain
