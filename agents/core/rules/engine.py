"""Which rules fire on an event, and what they do. Pure: it says what is to be done, and does none.

No set of rules makes a run endless: a rule never sees an event that it had a part in, chains are
short, and every rule and every run have only so many firings.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, assert_never

from agents.core.control import Unanswerable
from agents.core.control.evaluation import Evaluation
from agents.core.control.events import AgentEvent, EventType, quote_texts
from agents.core.control.facts import Facts
from agents.core.rules.in_force import Moment, RuleInForce, build_rule_set
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
    encode_value,
)
from agents.core.rules.steps import MAX_RULE_STEPS, StepBudget
from agents.core.sanitize import bound_sentence

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
        self._set = build_rule_set(tuple(rules))
        self._rules = [
            RuleInForce(rule, key, dict(states[key]) if key in states else {}, max_firings, glance)
            for rule, key, max_firings, glance in self._set.rules
        ]
        self._effects = 0
        self._shares = dict.fromkeys(LEVELS, 0)
        """How many of them are of each level."""
        self._has_asked_again = False
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

    def describe_not_fired(self) -> list[dict[str, Any]]:
        """Return what is recorded of the rules that looked and never fired, each with why."""
        return [found for each in self._rules if (found := each.describe_silence()) is not None]

    def close(self) -> None:
        """Look at nothing any more."""
        self._set = build_rule_set(())

    def feed(self, facts: Facts, event: AgentEvent) -> list[RuleOutcome]:
        """Return what the rules do about an event and about what they emit, in order."""
        if event.own_type is not None or not self._set[event.name].rules:
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
        listeners, parts = self._set[event.name]
        context = facts.build_context(event, parts)
        for place, rules_left, share in listeners:
            each = self._rules[place]
            if each.firings >= each.max_firings or (chain and each.key in chain):
                continue
            if self._effects and self._is_spent(each.rule) and not each.rule.holds_calls:
                continue
            if each.glance is not None and (missed := each.glance(context)) is not None:
                each.last_look = (event.seq, context["turn"]["number"], missed)
                continue
            if moment is None:
                moment = Moment(event, chain, context)
            if self._steps.taken:
                share = self._steps.allow(each.rule.level, rules_left)
            if (outcome := self._try(each, share, moment, facts)) is not None:
                found.append(outcome)
        return found

    def _try(
        self, each: RuleInForce, allowed: int, moment: Moment, facts: Facts
    ) -> RuleOutcome | None:
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
            facts.build_context(moment.event)  # actions may look at all of it
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
        if self._has_asked_again or (self._set.is_asking_bound and not rule.is_binding):
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
