"""Where every chunk of a run passes: its events are handed on, and what rules add follows it."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from agents.core.chunks import OracleStreamChunk
from agents.core.control.events import AgentEvent
from agents.core.control.facts import Facts, RunBackground
from agents.core.control.observers import Observer, build_handing, name_observer
from agents.core.loop.context import TIMER_MARGIN, RunContext
from agents.core.loop.control import Control
from agents.core.loop.holds import CallHolds
from agents.core.loop.live_rules import LiveRules
from agents.core.notify import NotificationBus
from agents.core.notify.shipped import RULE_NOTIFY
from agents.core.rules.outcomes import RuleOutcome


class EventTap:
    """Hands the events of a run to its subscribers, observers and rules."""

    def __init__(
        self,
        ctx: RunContext,
        control: Control,
        observer: Observer | None,
        run_id: str,
        reads_facts: bool = False,
    ) -> None:
        spoken = control.subscribers
        alike = [one for one in spoken if one.id == RULE_NOTIFY.id]
        if control.rules and RULE_NOTIFY not in alike:
            spoken = (*spoken, RULE_NOTIFY)
        background = RunBackground(
            config=ctx.guard.config,
            user_id=ctx.state.user_id,
            project_id=ctx.state.project_id,
            note_count=control.note_count,
            writes=ctx.tools.writes,
        )
        self.facts = Facts(background)
        ctx.bus = NotificationBus(spoken, self.facts)
        ctx.rule_withheld = control.withheld
        ctx.holds = CallHolds(
            control.asks, has_consent=control.has_consent, can_ask=control.can_ask
        )
        self.rules = LiveRules(ctx, control, self.facts) if control.rules else None
        self._bus = None if ctx.bus.is_idle else ctx.bus
        self._notify = build_handing([("notifications", partial(_take_event, ctx))], run_id)
        self._hand = (
            build_handing(name_observer(observer), run_id) if observer is not None else None
        )
        listeners = (self._bus, self._hand, self.rules)
        self._is_heard = reads_facts or any(one is not None for one in listeners)

    def hear(self, chunk: OracleStreamChunk) -> Sequence[AgentEvent]:
        """Hand on the events of a chunk, before it is shown; return those that rules look at."""
        if not self._is_heard or not (events := self.facts.feed(chunk)):
            return ()
        if self._bus is not None:
            for event in events:
                if not self._bus.ignores(event):
                    self._notify((event,))
        if self._hand is not None:
            self._hand(events)
        return events if self.rules is not None else ()

    def react(self, events: Sequence[AgentEvent]) -> Iterable[OracleStreamChunk]:
        """Return what rules do about events, once their chunk was taken: mostly nothing."""
        if self.rules is None:
            return ()
        at, outcomes = self.rules.look(events)
        return self._act(self.rules, events[at], outcomes, events[at + 1 :]) if outcomes else ()

    def _act(
        self,
        rules: LiveRules,
        event: AgentEvent,
        outcomes: Iterable[RuleOutcome],
        later: Sequence[AgentEvent],
    ) -> Iterator[OracleStreamChunk]:
        """Yield what comes of the rules that fired on an event, then on those after it."""
        for outcome in outcomes:
            for added in rules.act(outcome, event):
                heard = self.hear(added)
                yield added
                yield from self.react(heard)
        yield from self.react(later)


def _take_event(ctx: RunContext, event: AgentEvent) -> None:
    """Hand an event to the subscribers, and be woken when one of them is to speak."""
    now = ctx.clock.monotonic()
    ctx.bus.emit(event, now)
    due = ctx.bus.next_due()
    if due is not None and due <= now:
        ctx.inbox.wake()
    elif due is not None:
        ctx.timers.want(due + TIMER_MARGIN)
