"""Where every chunk of a run passes: its events are handed on, and what rules add follows it."""

from collections.abc import Iterable, Iterator, Sequence

from agents.core.chunks import OracleStreamChunk
from agents.core.control.events import AgentEvent
from agents.core.control.facts import Facts, RunBackground
from agents.core.control.observers import Observer, build_handing, name_observer
from agents.core.loop.context import RunContext
from agents.core.loop.control import Control
from agents.core.loop.holds import CallHolds
from agents.core.loop.live_rules import LiveRules
from agents.core.notify import NotificationBus
from agents.core.notify.shipped import RULE_NOTIFY


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
        own = [] if ctx.bus.is_idle else [("notifications", ctx.take_event)]
        observers = [*own, *name_observer(observer)]
        self._hand = build_handing(observers, run_id) if observers else None
        self._is_heard = reads_facts or self._hand is not None or self.rules is not None

    def pass_on(self, chunk: OracleStreamChunk) -> Iterable[OracleStreamChunk]:
        """Return a chunk after its events were handed on, and what rules have to add to it."""
        events = self.facts.feed(chunk) if self._is_heard else ()
        if not events:
            return (chunk,)
        if self._hand is not None:
            self._hand(events)
        return (chunk,) if self.rules is None else self._add_reactions(self.rules, chunk, events)

    def _add_reactions(
        self, rules: LiveRules, chunk: OracleStreamChunk, events: Sequence[AgentEvent]
    ) -> Iterator[OracleStreamChunk]:
        """Yield a chunk, then what rules do about it once it was taken."""
        yield chunk
        for event in events:
            for outcome in rules.look(event):
                for added in rules.act(outcome, event):
                    yield from self.pass_on(added)
