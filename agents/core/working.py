"""The tool calls of one turn: run them side by side, show results as they come, lose none."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field
from functools import partial

from agents.core.batch import Entry, assistant_message, plan
from agents.core.chunks import CallView, Chunk, Done, Source, ToolCalled, ToolResult, Turn
from agents.core.context import RunContext
from agents.core.ports import RawCall, ToolContext, ToolOutcome
from agents.core.reasons import REASONS
from agents.core.state import Notice
from agents.core.tasks import spawn, stop
from agents.core.tokens import cut_text

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Ran:
    entry: Entry
    outcome: ToolOutcome


@dataclass(frozen=True, slots=True)
class _Reported:
    """A chunk of a subagent that runs under a call."""

    call_id: str
    chunk: Chunk


@dataclass(slots=True)
class Batch:
    """One turn's calls, and what their subagents used."""

    entries: list[Entry] = field(default_factory=list)
    subagent_tokens: int = 0
    result_chars: int = 0
    waiting: deque[Entry] = field(default_factory=deque)
    running: dict[str, asyncio.Task[None]] = field(default_factory=dict)


async def work(
    ctx: RunContext, batch: Batch, text: str, calls: tuple[RawCall, ...]
) -> AsyncGenerator[Chunk, None]:
    """Run a turn's calls. Afterwards every entry has an outcome and the prompt has it too."""
    batch.entries = _planned(ctx, calls)
    ctx.prompt.add(assistant_message(text, batch.entries))
    batch.result_chars = ctx.meter.result_chars(ctx.prompt.chars, len(batch.entries))
    for chunk in _announce(ctx, batch):
        yield chunk
    batch.waiting.extend(e for e in batch.entries if e.outcome is None and e.same_as is None)
    ctx.arm(ctx.working_deadline)
    ctx.inbox.wake()  # the limit may have been reached before the first call starts
    try:
        while batch.waiting or batch.running:
            item = await ctx.inbox.get()
            if item is None:
                ctx.tick()
                for chunk in ctx.tell_due():
                    yield chunk
                if ctx.state.cancelled or ctx.reached(ctx.working_deadline):
                    break
            else:
                for chunk in _take(ctx, batch, item):
                    yield chunk
            for chunk in _start_next(ctx, batch):
                yield chunk
    finally:
        await stop(batch.running.values(), ctx.grace)
    for chunk in settle(ctx, batch):
        yield chunk
    _hand_over(ctx, batch)


def _planned(ctx: RunContext, calls: tuple[RawCall, ...]) -> list[Entry]:
    reason = ctx.state.wrap_up_reason
    ending = f"the run is ending. {REASONS.get(reason).sentence}" if reason else ""
    return plan(
        calls,
        ctx.ids,
        cap=ctx.state.config.max_tool_calls_per_turn,
        writes=ctx.tools.writes,
        withheld=ctx.state.withheld_tools,
        ending=ending,
    )


def _announce(ctx: RunContext, batch: Batch) -> Iterator[Chunk]:
    """Show every call, and the results of those that will not be run."""
    refused = [e for e in batch.entries if e.outcome is not None and e.outcome.refused]
    for entry in batch.entries:
        yield _called(ctx, entry, "refused" if entry in refused else "pending")
    for entry in batch.entries:
        if entry.outcome is not None:
            yield _result(ctx, batch, entry, entry.outcome)
    over = [e for e in refused if e.name not in ctx.state.withheld_tools]
    if over and ctx.state.wrap_up_reason is None:
        yield from ctx.tell(_tool_limit(ctx, batch, over))


def _tool_limit(ctx: RunContext, batch: Batch, over: list[Entry]) -> Notice:
    cap = ctx.state.config.max_tool_calls_per_turn
    return Notice(
        key=f"tool_limit:{ctx.state.turn}",
        system_type="tool_limit",
        message=f"The model asked for {len(batch.entries)} tool calls in one turn "
        f"(limit {cap}); {len(over)} were not run.",
        metadata={
            "limit_type": "tool_calls",
            "current_value": len(batch.entries),
            "limit_value": cap,
            "percent": round(100 * len(batch.entries) / cap, 1),
        },
    )


def _start_next(ctx: RunContext, batch: Batch) -> Iterator[Chunk]:
    while batch.waiting and len(batch.running) < ctx.state.config.max_parallel_tools:
        entry = batch.waiting.popleft()
        entry.started = ctx.clock.monotonic()
        batch.running[entry.id] = spawn(_run_one(ctx, entry), f"tool {entry.name}")
        yield _called(ctx, entry, "running")


async def _run_one(ctx: RunContext, entry: Entry) -> None:
    context = ToolContext(
        call_id=entry.id,
        user_id=ctx.state.user_id,
        project_id=ctx.state.project_id,
        clock=ctx.clock,
        deadline=ctx.working_deadline,
        tokens_left=ctx.meter.left,
        config=ctx.state.config,
        emit=partial(_report, ctx, entry.id),
    )
    try:
        outcome = await ctx.tools.run(entry.call, context)
    except Exception as error:
        log.exception("tool %s failed", entry.name)
        outcome = ToolOutcome(ok=False, content=f"The tool failed ({type(error).__name__}).")
    ctx.inbox.put(_Ran(entry, outcome))


def _report(ctx: RunContext, call_id: str, chunk: Chunk) -> None:
    ctx.inbox.put(_Reported(call_id, chunk))


def _take(ctx: RunContext, batch: Batch, item: _Ran | _Reported) -> Iterator[Chunk]:
    match item:
        case _Ran(entry, outcome):
            batch.running.pop(entry.id, None)
            if entry.outcome is None:
                yield from _finish(ctx, batch, entry, outcome)
        case _Reported(call_id, chunk):
            if isinstance(chunk, Turn) and chunk.phase == "end":
                tokens = chunk.prompt_tokens + chunk.completion_tokens + chunk.subagent_tokens
                batch.subagent_tokens += tokens
                ctx.meter.used += tokens
            if not isinstance(chunk, Done):
                yield ctx.adopt(chunk, call_id)


def _finish(ctx: RunContext, batch: Batch, entry: Entry, outcome: ToolOutcome) -> Iterator[Chunk]:
    """Book an outcome for its call and for every call that shares it."""
    if entry.started is not None:
        entry.duration_ms = round(1000 * (ctx.clock.monotonic() - entry.started))
    yield _result(ctx, batch, entry, outcome)
    for source in outcome.sources:
        yield ctx.emit(Source, source=source)
    for twin in batch.entries:
        if twin.same_as == entry.order:
            yield _result(ctx, batch, twin, outcome)


def settle(ctx: RunContext, batch: Batch) -> Iterator[Chunk]:
    """Give every call that was cut the result it would otherwise never have."""
    for item in ctx.inbox.take_all():
        yield from _take(ctx, batch, item)
    why = "the run was stopped" if ctx.state.cancelled else "the time for work was over"
    for entry in batch.entries:
        if entry.outcome is None and entry.same_as is None:
            unknown = f"Outcome unknown: the call was cut because {why}. It may have taken effect."
            text = f"Not run: {why}." if entry.started is None else unknown
            yield from _finish(ctx, batch, entry, ToolOutcome(ok=False, content=text, refused=True))


def _hand_over(ctx: RunContext, batch: Batch) -> None:
    """Results to the model and to the tree, in call order."""
    for entry in batch.entries:
        outcome = entry.outcome
        if outcome is None:
            raise RuntimeError(f"call {entry.id} has no outcome")
        ctx.prompt.add({"role": "tool", "tool_call_id": entry.id, "content": outcome.content})
        _remember(ctx, entry, outcome)
        ctx.state = ctx.guard.on_tool_result(
            ctx.state,
            {
                "call_id": entry.id,
                "name": entry.name,
                "arguments": entry.arguments,
                "ok": outcome.ok,
                "content": outcome.content,
                "duration_ms": entry.duration_ms,
                "order": entry.order,
                "batch_size": len(batch.entries),
            },
        )


def _remember(ctx: RunContext, entry: Entry, outcome: ToolOutcome) -> None:
    if outcome.refused:
        ctx.deeds.not_run.append(f"{entry.signature} ({outcome.content})")
    else:
        ctx.deeds.ran[entry.name] += 1
    if not outcome.ok and not outcome.refused:
        ctx.deeds.errors.append(f"{entry.name}: {outcome.content}")


def _called(ctx: RunContext, entry: Entry, status: str) -> Chunk:
    view = CallView(entry.id, entry.name, entry.arguments, status)  # type: ignore[arg-type]
    return ctx.emit(ToolCalled, tool_call=view)


def _result(ctx: RunContext, batch: Batch, entry: Entry, outcome: ToolOutcome) -> Chunk:
    """The call's one result, cut to what the model may be given, and the chunk that shows it."""
    content = cut_text(_clean(outcome.content), batch.result_chars)
    entry.outcome = ToolOutcome(outcome.ok, content, outcome.refused, outcome.sources)
    return ctx.emit(
        ToolResult,
        tool_call_id=entry.id,
        tool_result=content,
        ok=outcome.ok,
        duration_ms=entry.duration_ms,
        order=entry.order,
    )


def _clean(text: str) -> str:
    """Text that every encoder takes: lone surrogates and NULs are replaced."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")
