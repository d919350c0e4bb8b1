"""The agent loop: one question to one terminal record, under control.

    checkpoint -> turn start -> ask the model -> run its tool calls -> fold the turn -> checkpoint

The tree decides, the loop does. Whatever a tree says, the loop itself holds the run to its
turns, tokens and time, and ends it with exactly one `done` chunk.
"""

import logging
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from agents.core.asking import Answer, ask, charge
from agents.core.batch import failed_turn
from agents.core.chunks import Check, Chunk, Decision, Done, Error, Hint, Turn
from agents.core.context import WRAP_UP_NOTE_CHARS, RunContext
from agents.core.decision import DecisionTree
from agents.core.explain import explanation
from agents.core.guard import TreeGuard
from agents.core.ports import Cancellation, ChatModel, Clock, Message, ToolRunner
from agents.core.progress import step_of
from agents.core.prompt import EMPTY_NOTE, GO_ON_NOTE, Prompt, wrap_up_note
from agents.core.reasons import REASONS, Outcome
from agents.core.rules import ENFORCED, checks, limit_notice
from agents.core.state import AgentState, Notice
from agents.core.tokens import MIN_ANSWER, Charge, cut_history
from agents.core.working import Batch, settle, work

log = logging.getLogger(__name__)
GRACE_SECONDS = 0.2


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
    try:
        try:
            async with aclosing(loop.turns()) as chunks:
                async for chunk in chunks:
                    yield chunk
        except Exception:
            log.exception("a run failed unexpectedly")
            loop.end("internal_error")
        for chunk in loop.ending():
            yield chunk
    finally:
        ctx.inbox.close()


class _Loop:
    def __init__(self, ctx: RunContext, conversation: Conversation) -> None:
        self.ctx = ctx
        self.conversation = conversation
        self.reason = "internal_error"
        self.also: tuple[str, ...] = ()
        self.error = ""
        self.batch: Batch | None = None
        self._fill_prompt()

    def end(self, reason: str, error: str = "") -> None:
        self.reason, self.error = reason, error

    def _note_fired(self, found: Sequence[Check]) -> None:
        """Keep whatever held when the run was stopped, and what came to hold until its end."""
        rules = (check.rule for check in found if check.fired)
        self.also = tuple(dict.fromkeys((*self.also, *rules)))

    # -- the turns --------------------------------------------------------------------------------

    async def turns(self) -> AsyncGenerator[Chunk, None]:
        ctx = self.ctx
        ctx.refresh()
        for chunk in ctx.context_update():
            yield chunk
        checkpoint = "start"
        while True:
            decision = self._decide(checkpoint)
            yield decision
            wrap_up = self._wrap_up_reason(decision)
            if not decision.goes_on:
                for chunk in self._stopped(decision, wrap_up):
                    yield chunk
                if wrap_up is None:
                    return
            for chunk in self._turn_start(wrap_up):
                yield chunk
            answer = Answer()
            async with aclosing(self._turn(answer)) as chunks:
                async for chunk in chunks:
                    yield chunk
            if answer.error is not None and wrap_up is None:
                ctx.refresh()
                self._note_fired(checks(ctx.state))
                self.end("provider_error", str(answer.error))
                return
            checkpoint = "wrap_up" if wrap_up else "turn"

    async def _turn(self, answer: Answer) -> AsyncGenerator[Chunk, None]:
        """One request and the calls it asks for, folded into the state."""
        ctx = self.ctx
        async with aclosing(ask(ctx, answer)) as chunks:
            async for chunk in chunks:
                yield chunk
        cost = charge(ctx, answer)
        text = "".join(answer.text)
        ctx.deeds.wrote_text = ctx.deeds.wrote_text or bool(text.strip())
        self.batch = batch = Batch()
        if answer.calls:
            async with aclosing(work(ctx, batch, text, answer.calls)) as chunks:
                async for chunk in chunks:
                    yield chunk
        elif text:
            ctx.prompt.add({"role": "assistant", "content": text})
        self.batch = None
        turn = self._turn_end(answer, batch, cost)
        ctx.state = ctx.state.after_turn(turn)
        yield turn

    def _turn_start(self, wrap_up: str | None) -> Iterator[Chunk]:
        ctx = self.ctx
        ctx.state = replace(ctx.state, wrap_up_reason=wrap_up)
        ctx.state = ctx.guard.on_turn_start(ctx.state)
        yield ctx.emit(Turn, number=ctx.state.turn + 1, phase="start", wrap_up=wrap_up)
        yield from ctx.tell_due()
        yield from self._hint(wrap_up)
        ctx.refresh()
        yield from ctx.context_update()

    def _hint(self, wrap_up: str | None) -> Iterator[Chunk]:
        """Add to the conversation what the model has to know, and record the exact words."""
        ctx = self.ctx
        notes, ctx.hints = ctx.hints, []
        if ctx.state.finish_reason == "empty":
            notes.append(EMPTY_NOTE)
        if wrap_up is not None:
            notes.append(wrap_up_note(wrap_up))
        if not notes and ctx.prompt.messages[-1]["role"] == "assistant":
            notes.append(GO_ON_NOTE)
        if notes:
            yield ctx.emit(Hint, text=ctx.prompt.note(notes))

    def _turn_end(self, answer: Answer, batch: Batch, cost: Charge) -> Turn:
        state, entries = self.ctx.state, batch.entries
        done = [] if state.wrap_up_reason else entries  # a wrap-up turn runs nothing
        step = step_of(
            [(e.signature, e.outcome.content if e.outcome else "") for e in done],
            writes=any(self.ctx.tools.writes(e.name) for e in done),
        )
        return self.ctx.emit(
            Turn,
            number=state.turn + 1,
            phase="end",
            wrap_up=state.wrap_up_reason,
            answered=answer.answered,
            prompt_tokens=cost.prompt,
            completion_tokens=cost.completion,
            subagent_tokens=batch.subagent_tokens,
            usage_source=cost.source,
            model_ms=answer.model_ms,
            finish_reason=answer.finish_reason,
            action=step.action,
            results=step.results,
            results_normalised=step.results_normalised,
            writes=step.writes,
            failed=failed_turn(entries),
        )

    # -- decisions --------------------------------------------------------------------------------

    def _decide(self, checkpoint: str) -> Decision:
        """Ask the tree, then hold it to what no tree can change."""
        ctx = self.ctx
        ctx.refresh()
        goes_on, reason = ctx.guard.should_continue(ctx.state)
        found = checks(ctx.state)
        fired = [check.rule for check in found if check.fired]
        if ctx.state.cancelled:
            goes_on, reason = False, "user_cancelled"
        elif checkpoint == "wrap_up":
            goes_on, reason = False, ctx.state.wrap_up_reason or reason
        elif goes_on and (enforced := next((r for r in fired if r in ENFORCED), None)):
            goes_on, reason = False, enforced
        if not goes_on and reason not in fired:
            found = (*found, Check(reason, None, None, fired=True))
        return ctx.emit(
            Decision,
            checkpoint=checkpoint,
            goes_on=goes_on,
            reason=reason,
            tree=ctx.guard.name,
            checks=found,
        )

    def _wrap_up_reason(self, decision: Decision) -> str | None:
        """Why the turn to come is the last one, or None."""
        if decision.goes_on:
            return "max_iterations" if self.ctx.state.turns_left == 1 else None
        if decision.checkpoint == "wrap_up" or not REASONS.get(decision.reason).wraps_up:
            return None
        return decision.reason if self.ctx.wrap_up_fits() else None

    def _stopped(self, decision: Decision, wrap_up: str | None) -> Iterator[Chunk]:
        """Say that a limit was reached; record the end if no wrap-up follows."""
        ctx = self.ctx
        self._note_fired(decision.checks)
        yield from ctx.tell_due()
        if REASONS.get(decision.reason).outcome is Outcome.LIMITED:
            yield from ctx.tell(limit_notice(decision.reason, ctx.state))
        if wrap_up is None:
            self.end(decision.reason)
            if decision.reason == "token_budget" and ctx.state.turn == 0:
                ctx.deeds.smallest_budget = self._smallest_budget()

    # -- start and end ----------------------------------------------------------------------------

    def _fill_prompt(self) -> None:
        ctx, conversation = self.ctx, self.conversation
        history = cut_history(conversation.history, ctx.meter.history_chars())
        ctx.prompt = conversation.prompt(history)
        if not ctx.meter.fits(ctx.prompt.chars + WRAP_UP_NOTE_CHARS):
            ctx.prompt = conversation.prompt([])

    def _smallest_budget(self) -> int:
        """A budget, rounded up, in which the bare question could have been answered."""
        needed = self.ctx.meter.estimate(self.ctx.prompt.chars + WRAP_UP_NOTE_CHARS) + MIN_ANSWER
        return max(1_000, -(-needed // 100) * 100)

    def ending(self) -> Iterator[Chunk]:
        """The run's last chunks, whatever ended it."""
        ctx, entry = self.ctx, REASONS.get(self.reason)
        ctx.tick()
        ctx.state = replace(ctx.state, termination_reason=self.reason)
        if self.batch is not None:
            yield from settle(ctx, self.batch)
        cancelled, limited = entry.outcome is Outcome.CANCELLED, entry.outcome is Outcome.LIMITED
        message = self.error or f"{entry.sentence} {entry.remedy}"
        if cancelled:
            yield from ctx.tell(_cancelled_notice(message))
        if cancelled or entry.outcome is Outcome.FAILED:
            yield ctx.emit(Error, code="cancelled" if cancelled else self.reason, error=message)
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
