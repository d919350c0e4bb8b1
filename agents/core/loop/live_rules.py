"""Rules in a run that goes on: what they do is done here, and recorded.

A rule may only tighten: it says something, ends the run early, takes a tool away, lets a call wait
for a person, or sends one answer back within the limits. Nothing that goes wrong in one is felt by
the run.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, assert_never

from agents.core.chunks import Done, EventRecord, OracleStreamChunk
from agents.core.control.events import AgentEvent, describe_own_event
from agents.core.control.facts import Facts
from agents.core.decisions.endings import find_end_reason
from agents.core.decisions.notices import name_rule
from agents.core.loop.context import RunContext
from agents.core.loop.control import Control
from agents.core.notify.hints import HintLine
from agents.core.rules.engine import EMITTED, RuleEngine
from agents.core.rules.outcomes import Effect, Firing, RuleFailure, RuleOutcome
from agents.core.rules.rule import (
    AskAgain,
    EmitEvent,
    Hold,
    Log,
    Notify,
    Rule,
    SetState,
    StopRun,
    Withhold,
)
from agents.core.sanitize import quote_as_data
from agents.core.state import Notice, RuleStop

logger = logging.getLogger(__name__)


class LiveRules:
    """The rules of one run. It is told every event, and yields the records of what rules do."""

    def __init__(self, ctx: RunContext, control: Control, facts: Facts) -> None:
        self._ctx = ctx
        self._facts = facts
        self._engine = RuleEngine(control.rules, control.states)
        self._withheld = set(control.withheld)
        """Shared with the run's subagents: those that are at work obey too, at their next call."""
        if control.can_ask:  # what a subagent may not call is its parent's to say
            ctx.rule_withheld = self._withheld
        ctx.holding_rules = _find_holding(control.rules)

    def look(self, events: Sequence[AgentEvent]) -> tuple[int, Sequence[RuleOutcome]]:
        """Return what comes of the rules that look at events, and of which of these: the first of
        which anything comes."""
        feed, facts = self._engine.feed, self._facts
        for at, event in enumerate(events):
            try:
                if outcomes := feed(facts, event):
                    return at, outcomes
            except Exception:
                logger.exception("the rules failed at %s", event.name)
        return 0, ()

    def act(self, outcome: RuleOutcome, event: AgentEvent) -> Iterator[OracleStreamChunk]:
        """Do what a rule wants done about an event."""
        if isinstance(outcome, RuleFailure):
            return self._report(outcome)
        return self._carry_out(outcome, event)

    def end(self, **fields: Any) -> Iterator[OracleStreamChunk]:
        """Let rules look at the run's end, which is told before it is recorded: nothing may follow
        its last chunk. Then record why rules did not fire."""
        ctx = self._ctx
        done = Done(seq=ctx.seq + 1, at=ctx.clock.time(), **fields)
        events = self._facts.feed(done)
        at, outcomes = self.look(events)
        for outcome in outcomes:
            yield from self.act(outcome, events[at])
        self._engine.close()
        if idle := self._engine.describe_not_fired():
            yield ctx.emit_event("rule.not_fired", count=len(idle), rules=idle)

    def _report(self, failure: RuleFailure) -> Iterator[OracleStreamChunk]:
        """Record a rule that could not be answered; tell the user once, when it is switched off."""
        rule = failure.rule
        yield self._ctx.emit_event(
            "rule.failed",
            rule=rule.key,
            event=failure.event,
            at_seq=failure.seq,
            turn=failure.turn,
            off=failure.is_off,
            name=rule.name,
            problem=failure.problem,
        )
        if failure.is_off:
            why = quote_as_data(failure.problem)
            yield from self._tell_user(
                rule,
                f"The rule {quote_as_data(rule.name)} is off for the rest of this run: {why}.",
                severity="warning",
            )

    def _carry_out(self, firing: Firing, event: AgentEvent) -> Iterator[OracleStreamChunk]:
        rule = firing.rule
        yield self._ctx.emit_event(
            "rule.fired",
            rule=rule.key,
            event=firing.event,
            at_seq=firing.seq,
            turn=firing.turn,
            mode=rule.mode,
            name=rule.name,
            effects=[str(effect) for effect in firing.effects],
            state={} if firing.is_shadow else dict(firing.changes),
        )
        if not firing.is_shadow:
            for effect in firing.effects:
                yield from self._perform(rule, effect, event)

    def _perform(
        self, rule: Rule, effect: Effect, event: AgentEvent
    ) -> Iterator[OracleStreamChunk]:
        ctx = self._ctx
        match effect.action:
            case Notify(to=to, keep=keep):
                yield ctx.emit_event(
                    "rule.notify",
                    rule=rule.key,
                    trigger=event.name,
                    to="both" if len(to) > 1 else to[0],
                    keep=keep,
                    name=rule.name,
                    message=effect.words,
                )
            case EmitEvent(event=name, payload=payload):
                yield ctx.emit(EventRecord, **describe_own_event(name, payload, EMITTED))
            case StopRun():
                if ctx.state.rule_stop is None:
                    words = _end_sentence(effect.words)
                    ctx.state = ctx.state.replace(rule_stop=RuleStop(rule.key, rule.name, words))
            case Withhold(tool=tool):
                self._withheld.add(tool)
            case AskAgain():
                yield from self._send_back(rule, effect.words)
            case Hold():
                ctx.holds.hold_for_rule(event.payload["id"], effect.words)
            case Log() | SetState():
                pass  # the record of the firing has it
            case _:
                assert_never(effect.action)

    def _send_back(self, rule: Rule, words: str) -> Iterator[OracleStreamChunk]:
        """Let the model answer once more, if a turn with tools fits into every limit."""
        ctx = self._ctx
        ctx.refresh()
        state = ctx.state.replace(finish_reason="sent_back")
        if not ctx.state.has_answered or state.turns_left < 2 or find_end_reason(state):
            return
        ctx.state = state
        ctx.hints.append(HintLine(words))
        name = quote_as_data(rule.name)
        yield from self._tell_user(rule, f"The rule {name} sent the answer back: {words}")

    def _tell_user(
        self, rule: Rule, message: str, severity: Any = "info"
    ) -> Iterator[OracleStreamChunk]:
        metadata = {"subscriber": "rule-notify", **name_rule(rule.key)}
        yield from self._ctx.tell(
            Notice(
                key="",
                system_type="notification",
                message=message,
                severity=severity,
                metadata=metadata,
            )
        )


@lru_cache(maxsize=256)
def _find_holding(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """Return the rules that hold calls, which do nothing else: the rest is for the run itself."""
    return tuple(
        replace(rule, actions=tuple(one for one in rule.actions if isinstance(one, Hold)))
        for rule in rules
        if rule.holds_calls
    )


def _end_sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."
