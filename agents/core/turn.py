"""One turn: what the model is told first, its request, its tool calls, and the record of it."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field

from agents.core.asking import Answer, ask, charge
from agents.core.batch import failed_turn
from agents.core.chunks import Chunk, Hint, Turn
from agents.core.context import WRAP_UP_NOTE_CHARS, RunContext
from agents.core.deciding import begun
from agents.core.progress import Step, digest, step_of
from agents.core.prompt import EMPTY_NOTE, GO_ON_NOTE, wrap_up_note
from agents.core.state import merged_source
from agents.core.tokens import Charge
from agents.core.working import Batch, settle, work


@dataclass(slots=True)
class OpenTurn:
    """A turn that has begun and is not folded into the state yet."""

    answer: Answer = field(default_factory=Answer)
    batch: Batch = field(default_factory=Batch)
    cost: Charge | None = None


def begin(ctx: RunContext, wrap_up: str | None) -> Iterator[Chunk]:
    """Tell the tree, the user and the model what there is to know before the request."""
    ctx.state = begun(ctx.guard, ctx.state, wrap_up)
    yield ctx.emit(Turn, number=ctx.state.turn + 1, phase="start", wrap_up=wrap_up)
    yield from ctx.tell_due()
    if notes := _notes(ctx, wrap_up):
        yield ctx.emit(Hint, text=ctx.prompt.note(notes))
    ctx.refresh()
    yield from ctx.context_update()


def _notes(ctx: RunContext, wrap_up: str | None) -> list[str]:
    """What is put into the conversation; on a wrap-up turn, no more than was forecast."""
    notes, ctx.hints = ctx.hints, []
    if ctx.state.finish_reason == "empty":
        notes.append(EMPTY_NOTE)
    if wrap_up is not None:
        last = wrap_up_note(wrap_up)
        room = WRAP_UP_NOTE_CHARS - len(last)
        while sum(map(len, notes)) > room:
            notes.pop(0)
        notes.append(last)
    if not notes and ctx.prompt.messages[-1]["role"] == "assistant":
        notes.append(GO_ON_NOTE)
    return notes


async def play(ctx: RunContext, turn: OpenTurn) -> AsyncGenerator[Chunk, None]:
    """One request and the calls it asks for, folded into the state."""
    answer = turn.answer
    async with aclosing(ask(ctx, answer)) as chunks:
        async for chunk in chunks:
            yield chunk
    turn.cost = charge(ctx, answer)
    text = "".join(answer.text)
    ctx.deeds.wrote_text = ctx.deeds.wrote_text or bool(text.strip())
    if answer.calls:
        async with aclosing(work(ctx, turn.batch, text, answer.calls)) as chunks:
            async for chunk in chunks:
                yield chunk
    elif text:
        ctx.prompt.add({"role": "assistant", "content": text})
    yield _fold(ctx, turn, turn.cost, _step(ctx, turn.batch))


def break_off(ctx: RunContext, turn: OpenTurn) -> Iterator[Chunk]:
    """Fold a turn that failed on our side: its calls get their results, its tokens are booked."""
    yield from settle(ctx, turn.batch, "something went wrong inside Oracle")
    yield _fold(ctx, turn, turn.cost or charge(ctx, turn.answer), Step(""))


def _step(ctx: RunContext, batch: Batch) -> Step:
    """What the turn did. A wrap-up turn runs nothing, whatever it asks for."""
    done = [] if ctx.state.wrap_up_reason else batch.entries
    return step_of(
        [(entry.signature, entry.outcome.content) for entry in done if entry.outcome is not None],
        writes=any(ctx.tools.writes(entry.name) for entry in done),
    )


def _fold(ctx: RunContext, turn: OpenTurn, cost: Charge, step: Step) -> Turn:
    """Record the turn's end, and take it into the state by that record alone."""
    answer, batch = turn.answer, turn.batch
    ended = ctx.emit(
        Turn,
        number=ctx.state.turn + 1,
        phase="end",
        wrap_up=ctx.state.wrap_up_reason,
        answered=answer.answered,
        prompt_tokens=cost.prompt,
        completion_tokens=cost.completion,
        subagent_tokens=batch.subagent_tokens,
        usage_source=merged_source(batch.subagent_source, cost.source),
        model_ms=answer.model_ms,
        finish_reason=answer.finish_reason,
        action=step.action,
        action_digest=digest(step.action) if step.action else "",
        results=step.results,
        results_normalised=step.results_normalised,
        writes=step.writes,
        failed=failed_turn(batch.entries),
    )
    ctx.state = ctx.state.after_turn(ended)
    return ended
