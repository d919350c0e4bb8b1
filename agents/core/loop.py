"""The agent loop: one question to one terminal record, under control.

    checkpoint -> turn start -> ask the model -> run its tool calls -> fold the turn -> checkpoint

The tree decides, the loop does. Whatever a tree says, the loop itself holds the run to its
turns, tokens and time, and ends it with exactly one `done` chunk.
"""

import logging
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from agents.core.chunks import Check, Chunk, Decision, Done, Error
from agents.core.context import GRACE_SECONDS, WRAP_UP_NOTE_CHARS, RunContext
from agents.core.deciding import WRAP_UP, decide, last_turn_reason
from agents.core.decision import DecisionTree
from agents.core.explain import explanation
from agents.core.guard import TreeGuard
from agents.core.ports import (
    Cancellation,
    ChatModel,
    Clock,
    Message,
    ModelError,
    ToolRunner,
)
from agents.core.prompt import Prompt
from agents.core.reasons import REASONS, Outcome
from agents.core.rules import checks, limit_notice
from agents.core.state import AgentState, Notice
from agents.core.tokens import cut_history
from agents.core.turn import OpenTurn, begin, break_off, play

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What a run starts from: the system prompt, earlier messages, the question."""

    system: str
    question: str
    history: Sequence[Message] = ()
    context_id: str | None = None

    def prompt(self, history: Sequence[Message]) -> Prompt:
        prompt = Prompt()
        prompt.add({"role": "system", "content": self.system})
        for message in history:
            prompt.add(message)
        prompt.add({"role": "user", "content": self.question})
        return prompt


async def run(
    state: AgentState,
    conversation: Conversation,
    *,
    tree: DecisionTree,
    model: ChatModel,
    tools: ToolRunner,
    clock: Clock,
    cancellation: Cancellation | None = None,
    deadline: float | None = None,
    grace: float = GRACE_SECONDS,
) -> AsyncGenerator[Chunk, None]:
    """Yield a run's chunks, the last of them `done`.

    `deadline` (monotonic) and `state.token_limit` can only shorten what the configuration allows:
    they are a subagent's share. `grace` is how long a cancelled tool is waited for.
    """
    guard = TreeGuard(tree, state.config)
    ctx = RunContext(
        state, guard, model, tools, clock, cancellation or Cancellation(), deadline, grace
    )
    loop = _Loop(ctx, conversation)
    shown = 0
    try:
        try:
            async with aclosing(loop.turns()) as chunks:
                async for chunk in chunks:
                    shown = chunk.seq
                    yield chunk
        except Exception:
            log.exception("a run failed unexpectedly")
            ctx.state = ctx.state.plain()
            ctx.seq = shown  # a chunk that was made and not shown leaves no gap
            loop.end("internal_error")
        for chunk in loop.ending():
            yield chunk
    finally:
        ctx.inbox.close()


class _Loop:
    def __init__(self, ctx: RunContext, conversation: Conversation) -> None:
        self.ctx = ctx
        self.conversation = conversation
        self.reason = ""
        """Why the run has ended; empty while it goes on."""
        self.error: ModelError | None = None
        """What to tell the user instead of the reason's own sentence."""
        self.also: tuple[str, ...] = ()
        self.turn: OpenTurn | None = None

    def end(self, reason: str, error: ModelError | None = None) -> None:
        self.reason, self.error = reason, error

    def _note_fired(self, found: Sequence[Check]) -> None:
        """Keep whatever held when the run was stopped, and what came to hold until its end."""
        rules = (check.rule for check in found if check.fired)
        self.also = tuple(dict.fromkeys((*self.also, *rules)))

    # -- the turns --------------------------------------------------------------------------------

    async def turns(self) -> AsyncGenerator[Chunk, None]:
        ctx = self.ctx
        self._fill_prompt()
        ctx.refresh()
        for chunk in ctx.context_update():
            yield chunk
        checkpoint = "start"
        while True:
            decision = self._decide(checkpoint)
            yield decision
            wrap_up = last_turn_reason(
                ctx.state, checkpoint, decision.goes_on, decision.reason, ctx.wrap_up_fits
            )
            if not decision.goes_on:
                for chunk in self._stopped(decision, wrap_up):
                    yield chunk
                if wrap_up is None:
                    return
            for chunk in begin(ctx, wrap_up):
                yield chunk
            self.turn = OpenTurn()
            async with aclosing(play(ctx, self.turn)) as chunks:
                async for chunk in chunks:
                    yield chunk
            error, self.turn = self.turn.answer.error, None
            if error is not None and not ctx.cancellation.requested:
                for chunk in self._failed(error, wrap_up):
                    yield chunk
                if self.reason:
                    return
            checkpoint = WRAP_UP if wrap_up else "turn"

    # -- decisions --------------------------------------------------------------------------------

    def _decide(self, checkpoint: str) -> Decision:
        """Decide by the state as it is now, and record what every rule measured."""
        ctx = self.ctx
        ctx.refresh()
        goes_on, reason = decide(ctx.guard, ctx.state, checkpoint)
        found = checks(ctx.state)
        if not goes_on and all(check.rule != reason for check in found):
            found = (*found, Check(reason, None, None, fired=True))
        return ctx.emit(
            Decision,
            checkpoint=checkpoint,
            goes_on=goes_on,
            reason=reason,
            tree=ctx.guard.name,
            checks=found,
        )

    def _failed(self, error: ModelError, wrap_up: str | None) -> Iterator[Chunk]:
        """The endpoint failed for good. A wrap-up that failed keeps the run's reason, unless the
        model has never answered at all: then the failure is what the user must know."""
        ctx = self.ctx
        if wrap_up is None or ctx.state.turn == 0:
            ctx.refresh()
            self._note_fired(checks(ctx.state))
            self.end("provider_error", error)
            return
        ctx.deeds.wrap_up_error = str(error)
        yield from ctx.tell(
            Notice(
                key="wrap_up_failed",
                system_type="provider",
                message=f"The last answer could not be finished. {error}",
                metadata={"limit_type": "provider", "cause": error.code},
            )
        )

    def _stopped(self, decision: Decision, wrap_up: str | None) -> Iterator[Chunk]:
        """Say that a limit was reached; record the end if no wrap-up follows."""
        ctx = self.ctx
        self._note_fired(decision.checks)
        limited = REASONS.get(decision.reason).outcome is Outcome.LIMITED
        yield from ctx.tell_due(warnings=limited)
        if limited:
            yield from ctx.tell(limit_notice(decision.reason, ctx.state))
        if wrap_up is None:
            self.end(decision.reason)
            if decision.reason == "token_budget" and ctx.state.turn == 0:
                self._note_what_would_do()

    # -- start and end ----------------------------------------------------------------------------

    def _fill_prompt(self) -> None:
        ctx, conversation = self.ctx, self.conversation
        ctx.prompt = conversation.prompt([])
        fixed = ctx.prompt.chars + ctx.tool_chars() + WRAP_UP_NOTE_CHARS
        history = cut_history(conversation.history, ctx.meter.history_chars(fixed))
        if history:
            ctx.prompt = conversation.prompt(history)
        if not ctx.meter.fits(ctx.prompt.chars + WRAP_UP_NOTE_CHARS):
            ctx.prompt = conversation.prompt([])

    def _note_what_would_do(self) -> None:
        """Not even the bare question fitted: what stands in its way, and what would do."""
        needed = self.ctx.wrap_up_tokens()
        if needed > self.ctx.meter.window:
            self.ctx.deeds.beyond_window = self.ctx.meter.window
        else:
            self.ctx.deeds.smallest_budget = max(1_000, -(-needed // 100) * 100)

    def ending(self) -> Iterator[Chunk]:
        """The run's last chunks, whatever ended it."""
        ctx, entry = self.ctx, REASONS.get(self.reason)
        ctx.tick()
        ctx.state = replace(ctx.state, termination_reason=self.reason)
        if self.turn is not None:
            yield from break_off(ctx, self.turn)
        cancelled, limited = entry.outcome is Outcome.CANCELLED, entry.outcome is Outcome.LIMITED
        message = str(self.error or f"{entry.sentence} {entry.remedy}")
        if cancelled:
            note = ctx.cancellation.note.rstrip(".")  # only here: notices can be erased
            told = f"Stopped by an administrator: {note}. {entry.remedy}" if note else message
            yield from ctx.tell(_cancelled_notice(told))
        if cancelled or entry.outcome is Outcome.FAILED:
            code = "cancelled" if cancelled else self.reason
            cause = self.error.code if self.error else ""
            yield ctx.emit(Error, code=code, error=message, cause=cause)
        yield ctx.emit(
            Done,
            termination_reason=self.reason,
            outcome=entry.outcome.value,
            turns_used=ctx.state.turn,
            tokens_used=ctx.state.tokens_used,
            usage_source=ctx.state.usage_source or "provider",
            model_used=ctx.model.name,
            context_id=self.conversation.context_id,
            also_triggered=tuple(rule for rule in self.also if rule != self.reason),
            explanation=explanation(self.reason, ctx.state, ctx.deeds) if limited else "",
        )


def _cancelled_notice(message: str) -> Notice:
    return Notice(
        key="cancelled",
        system_type="cancelled",
        message=message,
        severity="info",
        metadata={"limit_type": "cancelled"},
    )
