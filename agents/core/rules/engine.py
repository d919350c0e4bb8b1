"""Which rules fire on an event, and what they do. Pure: it says what is to be done, and does none.

No set of rules makes a run endless: a rule never sees an event that it had a part in, chains are
short, and every rule and every run have only so many firings.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, assert_never

from agents.core.control import Unanswerable
from agents.core.control.evaluation import Evaluation
from agents.core.control.events import OWN_PREFIX, AgentEvent, EventType, quote_texts
from agents.core.control.facts import Facts
from agents.core.rules.in_force import Listeners, Moment, RuleInForce
from agents.core.rules.outcomes import Effect, Firing, NotFired, RuleOutcome
from agents.core.rules.rule import (
    LEVELS,
    AskAgain,
    EmitEvent,
    Hold,
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
from agents.core.rules.steps import MAX_RULE_STEPS, StepBudget
from agents.core.sanitize import bound_sentence

MAX_RULES = 100
MAX_FIRINGS = 20
"""Of one rule in one run."""
MAX_EFFECTS = 100
"""Of all rules in one run, but for those that hold calls: they have to be able to."""
MAX_SHARES: Mapping[RuleLevel, int] = {"project": 40, "own": 40}
"""Of these levels: nobody's rules can use up what those above them may do."""
MAX_CHAIN = 3
"""Rules that may have led to an event, one by the other."""
MAX_STATE_KEYS = 50
EMITTED = EventType("info", "rule", {})
"""What is known beforehand of an event that a rule emits."""
CROWDED = "this takes too many steps, together with the other rules that look"
_NO_STATES: Mapping[str, Mapping[str, Any]] = {}
_NOTHING: list[Any] = []


class RuleEngine:
    """The rules in force in one run, what each has done so far, and what each remembers."""

    def __init__(
        self, rules: Iterable[Rule], states: Mapping[str, Mapping[str, Any]] = _NO_STATES
    ) -> None:
        in_force = choose_rules(rules, MAX_RULES)
        self._rules = [
            RuleInForce(rule, key, dict(states.get(key, {})), 1 if rule.fires_once else MAX_FIRINGS)
            for key, rule in ((rule.key, rule) for rule in in_force)
        ]
        self._effects = 0
        self._shares = dict.fromkeys(LEVELS, 0)
        """How many of them are of each level."""
        self._has_asked_again = False
        self._is_asking_bound = any(rule.is_binding and rule.asks_again for rule in in_force)
        """Whether the one answer that can be sent back is for a rule that binds."""
        self._listeners = Listeners(self._rules)
        self._steps = StepBudget()

    @property
    def states(self) -> dict[str, dict[str, Any]]:
        """What each rule remembers, by its key."""
        return {each.key: each.state for each in self._rules}

    @property
    def steps_taken(self) -> int:
        """What the expressions of all rules have taken so far."""
        return self._steps.taken

    @property
    def why_not(self) -> dict[str, NotFired]:
        """Why rules did not fire when they last looked, by their keys."""
        return {each.key: why for each in self._rules if (why := each.why_not) is not None}

    def list_not_fired(self) -> list[tuple[Rule, NotFired]]:
        """Return the rules that looked and never fired, each with why."""
        return [
            (each.rule, why)
            for each in self._rules
            if not each.firings and (why := each.why_not) is not None
        ]

    def feed(self, facts: Facts, event: AgentEvent) -> list[RuleOutcome]:
        """Return what the rules do about an event and about what they emit, in order."""
        if not self._listeners[event.name] or event.name.startswith(OWN_PREFIX):
            return _NOTHING  # an own event was looked at when it was made
        if self._steps.has_begun:
            self._steps.begin_event()
        found = self._look(facts, event, ())
        for outcome in found:  # which grows by what rules do about what others emit
            if isinstance(outcome, Firing) and not outcome.is_shadow:
                for emitted, chain in _emit_events(outcome, event):
                    found += self._look(facts, emitted, chain)
        return found

    def _look(self, facts: Facts, event: AgentEvent, chain: tuple[str, ...]) -> list[RuleOutcome]:
        """Let every rule that listens to an event look at it."""
        moment: Moment | None = None
        found: list[RuleOutcome] = []
        for each, rules_left, share in self._listeners[event.name]:
            if each.firings >= each.max_firings or each.key in chain:
                continue
            if self._effects and self._is_spent(each.rule) and not each.rule.holds_calls:
                continue
            if moment is None:
                moment = Moment(event, chain, facts.build_context(event))
            if self._steps.taken:
                share = self._steps.allow(each.rule.level, rules_left)
            if (outcome := self._try(each, share, moment)) is not None:
                found.append(outcome)
        return found

    def _try(self, each: RuleInForce, allowed: int, moment: Moment) -> RuleOutcome | None:
        """Return what comes of a rule. What it remembers changes only if all of it goes well."""
        rule, context = each.rule, moment.context
        context["state"] = each.state
        moment.steps = allowed
        try:
            if rule.condition is not None:
                missed = rule.condition.search(moment)
                if missed is not None:
                    each.last_look = (moment.event.seq, moment.turn, missed)
                    return None
            context["state"] = state = dict(each.state)
            effects = self._perform(rule, moment, state)
        except Unanswerable as error:
            is_crowded = moment.steps < 0 and allowed < MAX_RULE_STEPS
            return each.fail(moment, CROWDED if is_crowded else error.problem.message)
        finally:
            if moment.steps != allowed:
                self._steps.charge(rule.level, allowed - moment.steps)
        each.last_look, each.state = None, state
        return self._fire(each, moment, effects)

    def _fire(self, each: RuleInForce, moment: Moment, effects: tuple[Effect, ...]) -> Firing:
        rule = each.rule
        each.firings += 1
        if not rule.holds_calls:
            self._effects += len(effects)
            self._shares[rule.level] += len(effects)
        self._has_asked_again |= any(isinstance(one.action, AskAgain) for one in effects)
        return Firing(
            rule=rule,
            event=moment.event.name,
            seq=moment.event.seq,
            turn=moment.turn,
            effects=effects,
            chain=moment.chain,
            changes={
                one.action.key: each.state[one.action.key]
                for one in effects
                if isinstance(one.action, SetState)
            },
        )

    def _is_spent(self, rule: Rule) -> bool:
        more = len(rule.actions)
        return self._effects + more > MAX_EFFECTS or self._shares[
            rule.level
        ] + more > MAX_SHARES.get(rule.level, MAX_EFFECTS)

    # -- what a rule does -------------------------------------------------------------------------

    def _perform(self, rule: Rule, moment: Moment, state: dict[str, Any]) -> tuple[Effect, ...]:
        """Return what the actions come to. They see what those before them remembered."""
        effects = []
        values = {**moment.context["event"]["payload"], **quote_texts(moment.event)}
        for action in rule.actions:
            if isinstance(action, AskAgain) and not self._may_ask_again(
                rule, moment.context["turn"]
            ):
                continue
            words = _describe_action(action, moment, values, state)
            effects.append(Effect(action, words))
        return tuple(effects)

    def _may_ask_again(self, rule: Rule, turn: Mapping[str, Any]) -> bool:
        """Return whether there is an answer that a rule can send back: once in a run."""
        if self._has_asked_again or (self._is_asking_bound and not rule.is_binding):
            return False
        return turn["answered"] and not turn["is_wrap_up"]


def _describe_action(
    action: RuleAction,
    evaluation: Evaluation,
    values: Mapping[str, Any],
    state: dict[str, Any],
) -> str:
    """Return what an action says or changes. What is not ours is quoted in it, on one line."""
    match action:
        case Notify() | Log() | StopRun() | AskAgain() | Hold():
            return bound_sentence(action.message.render(values, str))
        case SetState():
            value = action.expression.work_out(evaluation) if action.expression else action.value
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
            yield AgentEvent(about.event, event.seq, event.at, about.payload, EMITTED), chain
