"""State shared by the parts of one run: its state, accounts, conversation, inbox and stamp."""

from collections import deque
from collections.abc import Callable, Iterator, Set
from dataclasses import replace
from typing import Any, TypeVar

from agents.core.cancellation import Cancellation
from agents.core.chunks import (
    ContextUpdate,
    EventRecord,
    OracleStreamChunk,
    SystemMessage,
    qualify_call_id,
)
from agents.core.control.events import describe_event
from agents.core.decisions.guard import TreeGuard
from agents.core.decisions.warnings import TIME_WARNING_PERCENT, due_warnings, is_warning
from agents.core.loop.explanation import RunTally
from agents.core.loop.forecast import WRAP_UP_NOTE_CHARS, working_tokens, wrap_up_tokens
from agents.core.loop.holds import CallHolds
from agents.core.loop.inbox import Inbox
from agents.core.loop.offered_tools import OfferedTools
from agents.core.loop.prompt import Prompt
from agents.core.loop.stragglers import Stragglers
from agents.core.loop.timers import RunTimers
from agents.core.loop.tool_plan import CallIds
from agents.core.loop.turn_limits import TurnLimits
from agents.core.messages import ToolSchema
from agents.core.notify import InjectionPoint, NotificationBus
from agents.core.notify.hints import HintLine, build_hint, measure_told
from agents.core.ports import ChatModel, Clock, ToolRunner
from agents.core.rules.rule import Rule
from agents.core.state import AgentState, Notice
from agents.core.tokens import (
    FORECAST_TURNS,
    MIN_RESULT_LENGTH,
    TURN_CHARS,
    TokenBudget,
    forecast_further_turn,
)

C = TypeVar("C")
GRACE_SECONDS = 0.2
"""How long a cancelled tool is waited for."""
CONTEXT_STEP = 500
CONTEXT_SHARE = 0.02
"""The smallest change of the context meter: tokens, or a share of the window if that is less."""
TIMER_MARGIN = 0.001
"""Timers ring this much late, so that a woken reader finds its moment reached."""


class RunContext:
    """One run's working memory. Tools see a ToolContext instead, and write to the inbox."""

    def __init__(
        self,
        state: AgentState,
        guard: TreeGuard,
        model: ChatModel,
        tools: ToolRunner,
        clock: Clock,
        cancellation: Cancellation,
        deadline: float | None,
        grace: float,
    ) -> None:
        self.guard, self.model, self.tools, self.clock = guard, model, tools, clock
        self.cancellation, self.grace = cancellation, grace
        self.inbox: Inbox[Any] = Inbox(cancellation)
        """Where the run waits at present; each request and each batch of calls has its own."""
        self.prompt = Prompt()
        self.ids = CallIds()
        self.tally = RunTally()
        self.hints: list[HintLine] = []
        self.bus = NotificationBus(())
        self.rule_withheld: Set[str] = frozenset()
        """Tools that rules have taken away; no tree gives them back."""
        self.holding_rules: tuple[Rule, ...] = ()
        """Those that let calls wait, for the run's subagents."""
        self.limits = TurnLimits(tools)
        self.holds = CallHolds()
        self.is_loop_recorded = False
        self.timers = RunTimers(clock, lambda: self.inbox.wake())
        self.stragglers = Stragglers(lambda: self.inbox.wake())
        self.versions: dict[str, str] = {}
        """In what state the run knows its sources, by path."""
        self.seq = 0
        self._last_context_tokens: int | None = None
        self._growth: deque[tuple[int, int]] = deque(maxlen=FORECAST_TURNS)
        self._offered = OfferedTools(tools)
        self._begin(state, deadline)

    def _begin(self, state: AgentState, deadline: float | None) -> None:
        """Start the clock and the accounts, within the limits in force."""
        config, model = self.guard.config, self.model
        self.started = self.clock.monotonic()
        limit = float(config.timeout_seconds)
        if deadline is not None:
            limit = max(0.001, min(limit, deadline - self.started))
        self.deadline = self.started + limit
        budget = min(config.token_budget, state.token_limit)
        self.budget = TokenBudget(budget, model.window, model.max_output)
        now = self.clock.time()
        self.state = state.replace(
            config=config,
            token_limit=budget,
            time_limit=limit,
            start_time=now,
            now=now,
            context_window=model.window,
        )
        self.working_deadline = self.started + self.state.working_seconds

    def close(self) -> None:
        """Hear nothing more, and let go of what refers back here: so a run that is over is out of
        memory at once, and not when the collector has found it."""
        self.timers.cancel()
        self.inbox.close()
        del self.timers, self.stragglers

    # -- chunks -----------------------------------------------------------------------------------

    def emit(self, chunk: Callable[..., C], **fields: Any) -> C:
        """Return a chunk with this run's next number and the time."""
        self.seq += 1
        return chunk(seq=self.seq, at=self.clock.time(), **fields)

    def emit_event(self, name: str, /, **payload: Any) -> EventRecord:
        """Return the record of an event that no other chunk shows."""
        return self.emit(EventRecord, **describe_event(name, payload))

    def relay(self, chunk: Any, parent: str) -> Any:
        """Return a subagent's chunk as one of this run's."""
        self.seq += 1
        parent = qualify_call_id(parent, chunk.parent) if chunk.parent else parent
        return replace(chunk, seq=self.seq, at=self.clock.time(), parent=parent)

    def tell(self, notice: Notice) -> Iterator[OracleStreamChunk]:
        """Give a notice: to the user now, to the model with the next request. Once, if it has a
        key. Nothing is said in another way."""
        if notice.key:
            if notice.key in self.state.fired:
                return
            self.state = self.state.replace(fired=self.state.fired | {notice.key})
        if notice.hint:
            self.hints.append(build_hint(notice))
        if notice.message:
            yield self.emit(
                SystemMessage,
                system_type=notice.system_type,
                system_message=notice.message,
                severity=notice.severity,
                metadata=dict(notice.metadata),
            )
        elif is_warning(notice) and "event" in notice.metadata:
            about = dict(notice.metadata)
            yield self.emit_event(about.pop("event"), **about)

    def emit_due_notices(self, *, warnings: bool = True) -> Iterator[OracleStreamChunk]:
        """Give what is wrong with a tree, every warning that is due, and what a tree wanted said.

        The warnings are the loop's own: a tree cannot use up, or reword, one of them. None is
        given once the last answer has begun: what is measured then is in the last decision.
        """
        wanted = [notice for notice in self.state.notices if not is_warning(notice)]
        if self.state.notices:
            self.state = self.state.replace(notices=())
        due = due_warnings(self.state) if warnings else []
        for notice in (*self.guard.pop_reports(), *due, *wanted):
            yield from self.tell(notice)
        yield from self.tell_waiting("immediate")

    def tell_waiting(self, point: InjectionPoint) -> Iterator[OracleStreamChunk]:
        """Give what subscribers have to say at a point of the run."""
        if self.bus.has_waiting:
            for notice in self.bus.due(point, self.clock.monotonic()):
                yield from self.tell(notice)

    def tell_rest(self) -> Iterator[OracleStreamChunk]:
        """Give what subscribers still have to say to the user, because the run ends."""
        for notice in self.bus.flush(self.clock.monotonic()):
            yield from self.tell(notice)
        yield from self.record_dropped()

    def record_dropped(self, hints: int = 0) -> Iterator[OracleStreamChunk]:
        """Record what was to be told and is not: hints without room, events without a place."""
        if hints:
            yield self.emit_event("notification.dropped", count=hints, cause="hints")
        if events := self.bus.pop_dropped():
            yield self.emit_event("notification.dropped", count=events, cause="queue")

    def context_update(self) -> Iterator[OracleStreamChunk]:
        """Show how full the context is: at first, and when that has changed enough to be seen."""
        tokens, window, shown = (
            self.state.context_tokens,
            self.state.context_window,
            self._last_context_tokens,
        )
        if shown is None or abs(tokens - shown) >= min(CONTEXT_STEP, CONTEXT_SHARE * window):
            self._last_context_tokens = tokens
            yield self.emit(ContextUpdate, context_tokens=tokens, max_context_tokens=window)

    # -- waiting ----------------------------------------------------------------------------------

    def open_inbox(self) -> Inbox[Any]:
        """Return a new inbox: what the writers of an earlier one still send is of no interest."""
        self.inbox.close()
        self.inbox = Inbox(self.cancellation)
        return self.inbox

    def is_past(self, when: float) -> bool:
        return self.clock.monotonic() >= when

    def set_timers(self, *moments: float) -> None:
        """Be woken at these moments, at the time warning if it is still to come, and when a
        subscriber is to speak."""
        wanted = list(moments)
        if "time" not in self.state.fired:
            wanted.append(self.started + TIME_WARNING_PERCENT / 100 * self.state.time_limit)
        if (due := self.bus.next_due()) is not None:
            wanted.append(due)
        self.timers.want_only(*(moment + TIMER_MARGIN for moment in wanted))

    def tick(self) -> None:
        """Bring the state's clock and cancellation up to date."""
        self.state = self.state.replace(**self._read_clock())

    def _read_clock(self) -> dict[str, Any]:
        now = self.state.start_time + self.clock.monotonic() - self.started
        return {"now": now, "cancelled": self.cancellation.requested}

    def refresh(self) -> None:
        """Bring the state's clock, cancellation and forecasts up to date."""
        chars, tools = self.prompt.chars, self.tool_chars()
        working = self.budget.estimate(chars + measure_told(self.hints) + tools)
        turns, bare = self.state.turns_left, self.wrap_up_tokens()
        goes_on = turns > 1 or self.state.wrap_up_reason == "token_budget"
        one = working_tokens(self.budget, chars, tools) if goes_on else bare
        step = self.budget.estimate(TURN_CHARS)
        past = [(self.budget.estimate(chars), tokens) for chars, tokens in self._growth]
        self.state = self.state.replace(
            **self._read_clock(),
            context_tokens=working,
            next_request=one,
            two_requests=one + forecast_further_turn(working, step, past) if turns > 2 else one,
        )

    def record_growth(self, chars: int, answer_tokens: int) -> None:
        """Remember by how much a turn has made the prompt longer, and what its answer took."""
        self._growth.append((chars, answer_tokens))

    # -- requests ---------------------------------------------------------------------------------

    @property
    def withheld_tools(self) -> frozenset[str]:
        """What may not be called now: as the tree says, as rules do, and as a behaviour does."""
        withheld = self.state.withheld_tools
        if self.rule_withheld or self.limits.withheld:
            return withheld | self.rule_withheld | self.limits.withheld
        return withheld

    @property
    def calls_deadline(self) -> float:
        """When calls are cut."""
        return min(self.working_deadline, self.limits.deadline)

    def tool_schemas(self) -> tuple[ToolSchema, ...]:
        return self._offered.list(self.withheld_tools)

    def list_withheld_schemas(self) -> tuple[ToolSchema, ...]:
        """Return the run's tools where a behaviour wants none of them called."""
        return self._offered.list(self.state.withheld_tools | self.rule_withheld)

    def tool_chars(self) -> int:
        return self._offered.measure(self.withheld_tools)

    def result_chars(self, results: int) -> int:
        """Return how long each of a turn's results may be.

        A wrap-up must fit after them. As long as the token warning was not given, so must a
        working turn: the model is to hear the warning while it can still act on it.
        """
        sent = self.prompt.chars + WRAP_UP_NOTE_CHARS
        longest = self.budget.result_chars(sent, results)
        if "tokens" in self.state.fired or self.state.turns_left <= 2:
            return longest
        working = self.prompt.chars + self.tool_chars() + TURN_CHARS
        room = self.budget.result_chars_for_two(sent, working, results)
        return min(longest, room) if room >= MIN_RESULT_LENGTH else longest

    def wrap_up_tokens(self) -> int:
        """Return what a tool-free request and a short answer are forecast to take."""
        return wrap_up_tokens(self.budget, self.prompt.chars)

    def spare_tokens(self) -> int:
        """Return what is left beyond the wrap-up."""
        return max(0, self.budget.left - self.wrap_up_tokens())

    def spare_hint_chars(self) -> int:
        """Return how long hints may be without which the run can do: what the forecast leaves of
        the budget, as they stand in the next request and in the one after it. As long as the token
        warning was not given, that is the forecast of two turns: it is to come in time."""
        needed = self.state.next_request
        if "tokens" not in self.state.fired:
            needed = self.state.two_requests
        return self.budget.to_chars(max(0, self.budget.left - needed) // 2)

    def wrap_up_fits(self) -> bool:
        """Return whether one more tool-free request fits in turns, tokens, window and time."""
        return (
            self.state.turns_left >= 1
            and self.budget.has_room_for(self.prompt.chars + WRAP_UP_NOTE_CHARS)
            and not self.is_past(self.deadline - self.grace)
        )
