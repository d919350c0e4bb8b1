"""The tool calls of one turn: run them side by side, show results as they come, lose none."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from agents.core.chunks import (
    OUTCOME_UNKNOWN,
    BaseChunk,
    CallView,
    Done,
    OracleStreamChunk,
    Source,
    ToolCalled,
    ToolResult,
    Turn,
    UsageSource,
)
from agents.core.decisions.notices import limit_metadata
from agents.core.loop.context import RunContext
from agents.core.loop.inbox import Inbox
from agents.core.loop.tool_plan import (
    PlannedCall,
    assistant_message,
    build_cut_outcome,
    check_outcome,
    find_cause,
    plan_calls,
)
from agents.core.messages import RawCall, ToolOutcome
from agents.core.ports import ToolContext
from agents.core.reasons import REASONS
from agents.core.sanitize import neutralise_system_notes, replace_unstorable
from agents.core.state import Notice, merge_usage_source
from agents.core.tasks import spawn, stop
from agents.core.tokens import MAX_RESULT_BYTES, truncate_result

logger = logging.getLogger(__name__)
MAX_SNIPPET_LENGTH = 500


@dataclass(frozen=True, slots=True)
class _CallFinished:
    entry: PlannedCall
    outcome: ToolOutcome


@dataclass(frozen=True, slots=True)
class _SubagentChunk:
    """A chunk of a subagent that runs under a call."""

    call_id: str
    chunk: OracleStreamChunk


@dataclass(slots=True)
class ToolBatch:
    """One turn's calls, and what their subagents used."""

    entries: list[PlannedCall] = field(default_factory=list)
    subagent_tokens: int = 0
    result_chars: int = 0
    tokens_each: int = 0
    """What each call may give to a subagent: together they leave enough for a wrap-up."""
    subagent_source: UsageSource | None = None
    """Who says so: None when there was no subagent."""
    cut: bool = False
    """Whether the calls that still run are being given up."""
    waiting: deque[PlannedCall] = field(default_factory=deque)
    running: dict[str, asyncio.Task[None]] = field(default_factory=dict)


async def run_tool_calls(
    ctx: RunContext, batch: ToolBatch, text: str, calls: tuple[RawCall, ...]
) -> AsyncGenerator[OracleStreamChunk, None]:
    """Run a turn's calls. Afterwards every entry has an outcome and the prompt has it too."""
    batch.entries = _plan_batch(ctx, calls)
    ctx.prompt.add(assistant_message(text, batch.entries))
    batch.result_chars = ctx.result_chars(len(batch.entries))
    for chunk in _announce(ctx, batch):
        yield chunk
    batch.waiting.extend(e for e in batch.entries if e.outcome is None and e.same_as is None)
    batch.tokens_each = ctx.spare_tokens() // max(1, len(batch.waiting))
    inbox = ctx.open_inbox()
    ctx.set_timers(ctx.working_deadline)
    inbox.wake()  # the limit may have been reached before the first call starts
    try:
        while batch.waiting or batch.running:
            item = await inbox.get()
            if item is None:
                ctx.tick()
                for chunk in ctx.emit_due_notices():
                    yield chunk
                if not _may_start_calls(ctx):
                    break
            else:
                for chunk in _apply_item(ctx, batch, item):
                    yield chunk
            for chunk in _start_next(ctx, batch):
                yield chunk
    finally:
        batch.cut = True
        await stop(batch.running.values(), ctx.grace)
    why = "the run was stopped" if ctx.state.cancelled else "the time for work was over"
    for chunk in finish_pending_calls(ctx, batch, why):
        yield chunk
    _deliver_results(ctx, batch)


def _plan_batch(ctx: RunContext, calls: tuple[RawCall, ...]) -> list[PlannedCall]:
    reason = ctx.state.wrap_up_reason
    ending = f"the run is ending. {REASONS.get(reason).sentence}" if reason else ""
    return plan_calls(
        calls,
        ctx.ids,
        cap=ctx.state.config.max_tool_calls_per_turn,
        writes=ctx.tools.writes,
        withheld=ctx.state.withheld_tools,
        ending=ending,
    )


def _announce(ctx: RunContext, batch: ToolBatch) -> Iterator[OracleStreamChunk]:
    """Show every call, and the results of those that will not be run."""
    for entry in batch.entries:
        yield _emit_call(ctx, entry, "refused" if _is_refused(entry) else "pending")
    for entry in batch.entries:
        if entry.outcome is not None:
            yield _emit_result(ctx, batch, entry, entry.outcome)
    over = sum(e.name not in ctx.state.withheld_tools for e in batch.entries if _is_refused(e))
    if over and ctx.state.wrap_up_reason is None:
        yield from ctx.notify(_tool_limit_notice(ctx, batch, over))


def _is_refused(entry: PlannedCall) -> bool:
    return entry.outcome is not None and entry.outcome.refused


def _tool_limit_notice(ctx: RunContext, batch: ToolBatch, over: int) -> Notice:
    cap = ctx.state.config.max_tool_calls_per_turn
    were = "was" if over == 1 else "were"
    return Notice(
        key=f"tool_limit:{ctx.state.turn}",
        system_type="tool_limit",
        message=f"The model asked for {len(batch.entries)} tool calls in one iteration "
        f"(limit {cap}); {over} {were} not run. It may ask for them again; raise the limit if it "
        "often does.",
        metadata=limit_metadata("tool_calls", len(batch.entries), cap),
    )


def _start_next(ctx: RunContext, batch: ToolBatch) -> Iterator[OracleStreamChunk]:
    most = ctx.state.config.max_parallel_tools
    while batch.waiting and len(batch.running) < most and _may_start_calls(ctx):
        entry = batch.waiting.popleft()
        entry.started = ctx.clock.monotonic()
        batch.running[entry.id] = spawn(_run_call(ctx, batch, entry), f"tool {entry.name}")
        yield _emit_call(ctx, entry, "running")


def _may_start_calls(ctx: RunContext) -> bool:
    return not (ctx.cancellation.requested or ctx.is_past(ctx.working_deadline))


async def _run_call(ctx: RunContext, batch: ToolBatch, entry: PlannedCall) -> None:
    inbox = ctx.inbox
    context = ToolContext(
        call_id=entry.id,
        user_id=ctx.state.user_id,
        project_id=ctx.state.project_id,
        clock=ctx.clock,
        deadline=ctx.working_deadline,
        tokens_left=batch.tokens_each,
        config=ctx.state.config,
        emit=partial(_report_chunk, inbox, entry.id),
        withheld_tools=ctx.state.withheld_tools,
        keep=partial(setattr, entry, "kept"),
    )
    if ctx.cancellation.requested:  # between its start and its first step
        entry.started = None
        return
    try:
        outcome = await ctx.tools.run(entry.call, context)
        check_outcome(outcome)
    except asyncio.CancelledError:
        if batch.cut:
            raise
        outcome = ToolOutcome(ok=False, content="The tool was cancelled from within.")
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # an exit of a tool must not end the process
        logger.exception("tool %r failed", entry.name)
        outcome = ToolOutcome(ok=False, content=f"The tool failed ({type(error).__name__}).")
    inbox.put(_CallFinished(entry, outcome))


def _report_chunk(inbox: Inbox[Any], call_id: str, chunk: OracleStreamChunk) -> None:
    """Take a subagent's chunk, from whatever thread its tool runs in."""
    if not isinstance(chunk, BaseChunk):
        raise TypeError(f"a chunk was wanted, not {type(chunk).__name__}")
    inbox.put_threadsafe(_SubagentChunk(call_id, chunk))


def _apply_item(
    ctx: RunContext, batch: ToolBatch, item: _CallFinished | _SubagentChunk
) -> Iterator[OracleStreamChunk]:
    match item:
        case _CallFinished(entry, outcome):
            batch.running.pop(entry.id, None)
            if entry.outcome is None:
                yield from _finish_call(ctx, batch, entry, outcome)
        case _SubagentChunk(call_id, chunk):
            if isinstance(chunk, Turn) and chunk.phase == "end":
                tokens = chunk.prompt_tokens + chunk.completion_tokens + chunk.subagent_tokens
                batch.subagent_tokens += tokens
                batch.subagent_source = merge_usage_source(
                    batch.subagent_source, chunk.usage_source
                )
                ctx.budget.used += tokens
            if not isinstance(chunk, Done):
                yield ctx.relay(chunk, call_id)


def _finish_call(
    ctx: RunContext, batch: ToolBatch, entry: PlannedCall, outcome: ToolOutcome
) -> Iterator[OracleStreamChunk]:
    """Book an outcome for its call and for every call that shares it."""
    if entry.started is not None:
        entry.duration_ms = round(1000 * (ctx.clock.monotonic() - entry.started))
    yield _emit_result(ctx, batch, entry, outcome)
    for source in outcome.sources:
        snippet = replace_unstorable(source.snippet)[:MAX_SNIPPET_LENGTH]
        yield ctx.emit(
            Source, source=replace(source, path=replace_unstorable(source.path), snippet=snippet)
        )
    for twin in batch.entries:
        if twin.same_as == entry.order:
            yield _emit_result(ctx, batch, twin, outcome)


def finish_pending_calls(
    ctx: RunContext, batch: ToolBatch, why: str
) -> Iterator[OracleStreamChunk]:
    """Give every call that was cut the result it would otherwise never have."""
    for item in ctx.inbox.drain():
        yield from _apply_item(ctx, batch, item)
    for entry in batch.entries:
        if entry.outcome is None and entry.same_as is None:
            yield from _finish_call(ctx, batch, entry, build_cut_outcome(entry, why))


def _deliver_results(ctx: RunContext, batch: ToolBatch) -> None:
    """Deliver results to the model and to the tree, in call order."""
    for entry in batch.entries:
        outcome = entry.outcome
        if outcome is None:
            raise RuntimeError(f"call {entry.id} has no outcome")
        given = outcome.given or outcome.content
        ctx.prompt.add({"role": "tool", "tool_call_id": entry.id, "content": given})
        _update_tally(ctx, entry, outcome)
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


def _update_tally(ctx: RunContext, entry: PlannedCall, outcome: ToolOutcome) -> None:
    is_cut = outcome.content.startswith(OUTCOME_UNKNOWN) and not outcome.ok
    if outcome.refused or is_cut:
        ctx.tally.not_run.append(f"{entry.signature} ({outcome.content})")
    elif entry.started is not None or entry.same_as is not None:
        ctx.tally.ran[entry.name] += 1
    if not (outcome.ok or outcome.refused or is_cut):
        ctx.tally.errors.append(f"{entry.name}: {outcome.content}")


def _emit_call(ctx: RunContext, entry: PlannedCall, status: str) -> OracleStreamChunk:
    view = CallView(entry.id, entry.name, entry.arguments, status)  # type: ignore[arg-type]
    return ctx.emit(ToolCalled, tool_call=view)


def _emit_result(
    ctx: RunContext, batch: ToolBatch, entry: PlannedCall, outcome: ToolOutcome
) -> OracleStreamChunk:
    """Return the call's one result, cut to what the model may get, and the chunk that shows it.

    Where the model gets a summary, the result is kept as long as any may be.
    """
    chars = MAX_RESULT_BYTES if outcome.given else batch.result_chars
    content = _clean_result(outcome.content, chars)
    given = _clean_result(outcome.given, batch.result_chars)
    entry.outcome = replace(outcome, content=content, given=given)
    return ctx.emit(
        ToolResult,
        tool_call_id=entry.id,
        tool_result=content,
        ok=outcome.ok,
        duration_ms=entry.duration_ms,
        order=entry.order,
        given=given,
        unfinished=outcome.unfinished,
        cause=find_cause(outcome),
    )


def _clean_result(text: str, chars: int) -> str:
    return truncate_result(neutralise_system_notes(replace_unstorable(text)), chars)
