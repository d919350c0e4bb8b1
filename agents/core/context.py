"""What the parts of one run share: its state, accounts, conversation, inbox and stamp."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from agents.core.batch import CallIds
from agents.core.chunks import Chunk, ContextUpdate, System
from agents.core.explain import Deeds
from agents.core.guard import TreeGuard
from agents.core.inbox import Inbox
from agents.core.ports import Cancellation, ChatModel, Clock, ToolRunner, ToolSchema
from agents.core.prompt import Prompt
from agents.core.rules import TIME_WARNING_PERCENT, due_warnings, is_warning
from agents.core.state import AgentState, Notice
from agents.core.tokens import MIN_ANSWER, Meter, cut_text, schema_chars

C = TypeVar("C")
WRAP_UP_NOTE_CHARS = 600
"""Room for what is put into the conversation before a last answer."""
TURN_CHARS = 1_500
"""What a working turn adds to the conversation at least: its calls and their shortest results."""
HINT_CHARS = 500
GRACE_SECONDS = 0.2
"""How long a cancelled tool is waited for."""
CONTEXT_STEP = 0.02
_TIMER_MARGIN = 0.001
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
        self.cancellation = cancellation
        self.grace = grace
        self.inbox: Inbox[Any] = Inbox(clock, cancellation)
        """Where the run waits at present; each request and each batch of calls has its own."""
        self.prompt = Prompt()
        self.ids = CallIds()
        self.deeds = Deeds()
        self.hints: list[str] = []
        self.seq = 0
        self._shown_context = -1.0
        self._schemas: tuple[frozenset[str], tuple[ToolSchema, ...], int] | None = None
        self.started = clock.monotonic()
        limit = float(guard.config.timeout_seconds)
        if deadline is not None:
            limit = max(0.001, min(limit, deadline - self.started))
        self.deadline = self.started + limit
        budget = min(guard.config.token_budget, state.token_limit)
        self.meter = Meter(budget, model.window, model.max_output)
        now = clock.time()
        self.state = replace(
            state,
            config=guard.config,
            token_limit=budget,
            time_limit=limit,
            start_time=now,
            now=now,
            context_window=model.window,
        )
        self.working_deadline = self.started + self.state.working_seconds

    # -- chunks -----------------------------------------------------------------------------------

    def emit(self, chunk: Callable[..., C], **fields: Any) -> C:
        """A chunk with this run's next number and the time."""
        self.seq += 1
        return chunk(seq=self.seq, at=self.clock.time(), **fields)

    def adopt(self, chunk: Any, parent: str) -> Any:
        """A subagent's chunk as one of this run's."""
        self.seq += 1
        return replace(chunk, seq=self.seq, at=self.clock.time(), parent=chunk.parent or parent)

    def tell(self, notice: Notice) -> Iterator[Chunk]:
        """Give a notice: to the user now, to the model with the next request. Once only."""
        if notice.key in self.state.fired:
            return
        self.state = replace(self.state, fired=self.state.fired | {notice.key})
        if notice.hint:
            self.hints.append(cut_text(notice.hint, HINT_CHARS))
        if notice.message:
            yield self.emit(
                System,
                system_type=notice.system_type,
                system_message=notice.message,
                severity=notice.severity,
                metadata=dict(notice.metadata),
            )

    def tell_due(self, *, warnings: bool = True) -> Iterator[Chunk]:
        """Give a tree's failure, every warning that is due, and what a tree wanted said.

        The warnings are the loop's own: a tree cannot use up, or reword, one of them.
        """
        wanted = [notice for notice in self.state.notices if not is_warning(notice)]
        self.state = replace(self.state, notices=())
        failure = self.guard.take_failure()
        due = due_warnings(self.state) if warnings else []
        for notice in (*filter(None, [failure]), *due, *wanted):
            yield from self.tell(notice)

    def context_update(self) -> Iterator[Chunk]:
        share = self.state.context_tokens / self.state.context_window
        if self._shown_context < 0 or abs(share - self._shown_context) >= CONTEXT_STEP:
            self._shown_context = share
            yield self.emit(
                ContextUpdate,
                context_tokens=self.state.context_tokens,
                max_context_tokens=self.state.context_window,
            )

    # -- waiting ----------------------------------------------------------------------------------

    def open_inbox(self) -> Inbox[Any]:
        """A new inbox: what the writers of an earlier one still send is of no interest."""
        self.inbox.close()
        self.inbox = Inbox(self.clock, self.cancellation)
        return self.inbox

    def reached(self, when: float) -> bool:
        return self.clock.monotonic() >= when

    def arm(self, *moments: float) -> None:
        """Be woken at these moments, and at the time warning if it is still to come."""
        self.inbox.clear_timers()
        for moment in moments:
            self.inbox.wake_at(moment + _TIMER_MARGIN)
        if "time" not in self.state.fired:
            share = TIME_WARNING_PERCENT / 100
            self.inbox.wake_at(self.started + share * self.state.time_limit + _TIMER_MARGIN)

    def tick(self) -> None:
        """Bring the state's clock and cancellation up to date."""
        now = self.state.start_time + self.clock.monotonic() - self.started
        self.state = replace(self.state, now=now, cancelled=self.cancellation.requested)

    def refresh(self) -> None:
        """Bring the state's clock, cancellation and forecasts up to date."""
        self.tick()
        working = self.meter.estimate(self.prompt.chars + self.tool_chars())
        bare = self.wrap_up_tokens()
        growth = self.meter.estimate(TURN_CHARS)
        last = self.state.turns_left <= 1
        self.state = replace(
            self.state,
            context_tokens=working,
            next_request=bare if last else working + MIN_ANSWER + growth + bare,
        )

    # -- requests ---------------------------------------------------------------------------------

    def schemas(self) -> tuple[ToolSchema, ...]:
        return self._offered()[0]

    def tool_chars(self) -> int:
        return self._offered()[1]

    def _offered(self) -> tuple[tuple[ToolSchema, ...], int]:
        """The tools that are not withheld, and their size; made anew only when that changes."""
        withheld = self.state.withheld_tools
        if self._schemas is None or self._schemas[0] != withheld:
            offered = tuple(
                schema
                for schema in self.tools.schemas()
                if schema["function"]["name"] not in withheld
            )
            self._schemas = (withheld, offered, schema_chars(offered))
        return self._schemas[1], self._schemas[2]

    def wrap_up_tokens(self) -> int:
        """What a tool-free request and a short answer are forecast to take."""
        return self.meter.estimate(self.prompt.chars + WRAP_UP_NOTE_CHARS) + MIN_ANSWER

    def spare_tokens(self) -> int:
        """What is left beyond the wrap-up."""
        return max(0, self.meter.left - self.wrap_up_tokens())

    def wrap_up_fits(self) -> bool:
        """Whether one more tool-free request fits in turns, tokens, window and time."""
        return (
            self.state.turns_left >= 1
            and self.meter.fits(self.prompt.chars + WRAP_UP_NOTE_CHARS)
            and not self.reached(self.deadline - self.grace)
        )
