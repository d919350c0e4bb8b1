"""The tool calls of one turn: run them side by side, show results as they come, lose none."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from agents.core.batch import Entry, assistant_message, plan
from agents.core.chunks import (
    OUTCOME_UNKNOWN,
    CallView,
    Chunk,
    Done,
    Source,
    SourceRef,
    Stamp,
    ToolCalled,
    ToolResult,
    Turn,
    UsageSource,
)
from agents.core.context import WRAP_UP_NOTE_CHARS, RunContext
from agents.core.inbox import Inbox
from agents.core.ports import RawCall, ToolContext, ToolOutcome
from agents.core.reasons import REASONS
from agents.core.state import Notice, merged_source
from agents.core.tasks import spawn, stop
from agents.core.text import as_data, storable
from agents.core.tokens import cut_result

log = logging.getLogger(__name__)
SNIPPET_CHARS = 500


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
    tokens_each: int = 0
    """What each call may give to a subagent: together they leave enough for a wrap-up."""
    subagent_source: UsageSource | None = None
    """Who says so: None when there was no subagent."""
    cut: bool = False
    """Whether the calls that still run are being given up."""
    waiting: deque[Entry] = field(default_factory=deque)
    running: dict[str, asyncio.Task[None]] = field(default_factory=dict)


async def work(
    ctx: RunContext, batch: Batch, text: str, calls: tuple[RawCall, ...]
) -> AsyncGenerator[Chunk, None]:
    """Run a turn's calls. Afterwards every entry has an outcome and the prompt has it too."""
    batch.entries = _planned(ctx, calls)
    ctx.prompt.add(assistant_message(text, batch.entries))
    wrap_up_chars = ctx.prompt.chars + WRAP_UP_NOTE_CHARS
    batch.result_chars = ctx.meter.result_chars(wrap_up_chars, len(batch.entries))
    for chunk in _announce(ctx, batch):
        yield chunk
    batch.waiting.extend(e for e in batch.entries if e.outcome is None and e.same_as is None)
    batch.tokens_each = ctx.spare_tokens() // max(1, len(batch.waiting))
    inbox = ctx.open_inbox()
    ctx.arm(ctx.working_deadline)
    inbox.wake()  # the limit may have been reached before the first call starts
    try:
        while batch.waiting or batch.running:
            item = await inbox.get()
            if item is None:
                ctx.tick()
                for chunk in ctx.tell_due():
                    yield chunk
                if not _may_work(ctx):
                    break
            else:
                for chunk in _take(ctx, batch, item):
                    yield chunk
            for chunk in _start_next(ctx, batch):
                yield chunk
    finally:
        batch.cut = True
        await stop(batch.running.values(), ctx.grace)
    why = "the run was stopped" if ctx.state.cancelled else "the time for work was over"
    for chunk in settle(ctx, batch, why):
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
    for entry in batch.entries:
        yield _called(ctx, entry, "refused" if _is_refused(entry) else "pending")
    for entry in batch.entries:
        if entry.outcome is not None:
            yield _result(ctx, batch, entry, entry.outcome)
    over = sum(e.name not in ctx.state.withheld_tools for e in batch.entries if _is_refused(e))
    if over and ctx.state.wrap_up_reason is None:
        yield from ctx.tell(_tool_limit(ctx, batch, over))


def _is_refused(entry: Entry) -> bool:
    return entry.outcome is not None and entry.outcome.refused


def _tool_limit(ctx: RunContext, batch: Batch, over: int) -> Notice:
    cap = ctx.state.config.max_tool_calls_per_turn
    return Notice(
        key=f"tool_limit:{ctx.state.turn}",
        system_type="tool_limit",
        message=f"The model asked for {len(batch.entries)} tool calls in one turn "
        f"(limit {cap}); {over} were not run.",
        metadata={
            "limit_type": "tool_calls",
            "current_value": len(batch.entries),
            "limit_value": cap,
            "percent": round(100 * len(batch.entries) / cap, 1),
        },
    )


def _start_next(ctx: RunContext, batch: Batch) -> Iterator[Chunk]:
    most = ctx.state.config.max_parallel_tools
    while batch.waiting and len(batch.running) < most and _may_work(ctx):
        entry = batch.waiting.popleft()
        entry.started = ctx.clock.monotonic()
        batch.running[entry.id] = spawn(_run_one(ctx, batch, entry), f"tool {entry.name}")
        yield _called(ctx, entry, "running")


def _may_work(ctx: RunContext) -> bool:
    return not (ctx.cancellation.requested or ctx.reached(ctx.working_deadline))


async def _run_one(ctx: RunContext, batch: Batch, entry: Entry) -> None:
    inbox = ctx.inbox
    context = ToolContext(
        call_id=entry.id,
        user_id=ctx.state.user_id,
        project_id=ctx.state.project_id,
        clock=ctx.clock,
        deadline=ctx.working_deadline,
        tokens_left=batch.tokens_each,
        config=ctx.state.config,
        emit=partial(_report, inbox, entry.id),
    )
    if ctx.cancellation.requested:  # between its start and its first step
        entry.started = None
        return
    try:
        outcome = await ctx.tools.run(entry.call, context)
        _check_outcome(outcome)
    except asyncio.CancelledError:
        if batch.cut:
            raise
        outcome = ToolOutcome(ok=False, content="The tool was cancelled from within.")
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # an exit of a tool must not end the process
        log.exception("tool %r failed", entry.name)
        outcome = ToolOutcome(ok=False, content=f"The tool failed ({type(error).__name__}).")
    inbox.put(_Ran(entry, outcome))


def _check_outcome(outcome: object) -> None:
    """A runner that breaks its port is a failed call, not a failed run."""
    match outcome:
        case ToolOutcome(content=str(), sources=tuple() as sources) if all(
            isinstance(source, SourceRef) for source in sources
        ):
            return
    raise TypeError("a tool must come to a ToolOutcome with text and sources")


def _report(inbox: Inbox[Any], call_id: str, chunk: Chunk) -> None:
    """Take a subagent's chunk, from whatever thread its tool runs in."""
    if not isinstance(chunk, Stamp):
        raise TypeError(f"a chunk was wanted, not {type(chunk).__name__}")
    inbox.put_from_anywhere(_Reported(call_id, chunk))


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
                batch.subagent_source = merged_source(batch.subagent_source, chunk.usage_source)
                ctx.meter.used += tokens
            if not isinstance(chunk, Done):
                yield ctx.adopt(chunk, call_id)


def _finish(ctx: RunContext, batch: Batch, entry: Entry, outcome: ToolOutcome) -> Iterator[Chunk]:
    """Book an outcome for its call and for every call that shares it."""
    if entry.started is not None:
        entry.duration_ms = round(1000 * (ctx.clock.monotonic() - entry.started))
    yield _result(ctx, batch, entry, outcome)
    for source in outcome.sources:
        snippet = storable(source.snippet)[:SNIPPET_CHARS]
        yield ctx.emit(Source, source=replace(source, path=storable(source.path), snippet=snippet))
    for twin in batch.entries:
        if twin.same_as == entry.order:
            yield _result(ctx, batch, twin, outcome)


def settle(ctx: RunContext, batch: Batch, why: str) -> Iterator[Chunk]:
    """Give every call that was cut the result it would otherwise never have."""
    for item in ctx.inbox.take_all():
        yield from _take(ctx, batch, item)
    for entry in batch.entries:
        if entry.outcome is None and entry.same_as is None:
            unknown = f"{OUTCOME_UNKNOWN} the call was cut because {why}. It may have taken effect."
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
    elif entry.started is not None or entry.same_as is not None:
        ctx.deeds.ran[entry.name] += 1
    if not outcome.ok and not outcome.refused:
        ctx.deeds.errors.append(f"{entry.name}: {outcome.content}")


def _called(ctx: RunContext, entry: Entry, status: str) -> Chunk:
    view = CallView(entry.id, entry.name, entry.arguments, status)  # type: ignore[arg-type]
    return ctx.emit(ToolCalled, tool_call=view)


def _result(ctx: RunContext, batch: Batch, entry: Entry, outcome: ToolOutcome) -> Chunk:
    """The call's one result, cut to what the model may be given, and the chunk that shows it."""
    content = cut_result(as_data(storable(outcome.content)), batch.result_chars)
    entry.outcome = ToolOutcome(outcome.ok, content, outcome.refused, outcome.sources)
    return ctx.emit(
        ToolResult,
        tool_call_id=entry.id,
        tool_result=content,
        ok=outcome.ok,
        duration_ms=entry.duration_ms,
        order=entry.order,
    )
