"""The tool calls of one turn: run them side by side, show results as they come, lose none."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from agents.core.chunks import (
    BaseChunk,
    Done,
    OracleStreamChunk,
    Turn,
)
from agents.core.decisions.notices import limit_metadata
from agents.core.loop.context import RunContext
from agents.core.loop.held_calls import hold_calls, release_held_calls
from agents.core.loop.inbox import Inbox
from agents.core.loop.tool_batch import ToolBatch
from agents.core.loop.tool_plan import (
    ENOUGH,
    PlannedCall,
    assistant_message,
    build_cut_outcome,
    check_outcome,
    plan_calls,
)
from agents.core.loop.tool_results import (
    deliver_results,
    emit_call,
    emit_kept_result,
    emit_result,
    emit_sources,
    emit_stale_sources,
)
from agents.core.messages import RawCall, ToolOutcome
from agents.core.notify.shipped import LOOP
from agents.core.notify.words import build_loop_notice
from agents.core.ports import ToolContext
from agents.core.reasons import REASONS
from agents.core.state import Notice, merge_usage_source
from agents.core.tasks import spawn, stop

logger = logging.getLogger(__name__)
MAX_PARALLEL = 64
"""More than any run may have at one time."""


@dataclass(frozen=True, slots=True)
class _CallFinished:
    entry: PlannedCall
    outcome: ToolOutcome


@dataclass(frozen=True, slots=True)
class _ResultKept:
    """What a call came to, while a summary of it is still to come."""

    entry: PlannedCall
    outcome: ToolOutcome


@dataclass(frozen=True, slots=True)
class _SubagentChunk:
    """A chunk of a subagent that runs under a call."""

    call_id: str
    chunk: OracleStreamChunk


def plan_tool_calls(
    ctx: RunContext, batch: ToolBatch, text: str, calls: tuple[RawCall, ...]
) -> Iterator[OracleStreamChunk]:
    """Show a turn's calls, and settle which of them will run."""
    batch.entries = _plan_batch(ctx, calls)
    ctx.prompt.add_calls(assistant_message(text, batch.entries))
    batch.result_chars = ctx.result_chars(len(batch.entries))
    yield from _announce(ctx, batch)
    yield from hold_calls(ctx, batch)
    batch.waiting.extend(entry for entry in batch.entries if entry.is_open)
    batch.tokens_each = ctx.spare_tokens() // max(1, len(batch.waiting))


async def run_tool_calls(
    ctx: RunContext, batch: ToolBatch
) -> AsyncGenerator[OracleStreamChunk, None]:
    """Run the calls that were planned, until all have ended or their time is over."""
    inbox = ctx.open_inbox()
    ctx.set_timers(ctx.calls_deadline)
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
                if batch.is_enough:
                    break
            for chunk in _start_next(ctx, batch):
                yield chunk
    finally:
        batch.cut = True
        await stop(batch.running.values(), ctx.grace)
        ctx.stragglers.keep(batch.running.values())


def deliver_tool_results(ctx: RunContext, batch: ToolBatch) -> Iterator[OracleStreamChunk]:
    """Put the calls' results into the prompt. Afterwards every entry has an outcome or is held;
    a run that was stopped asks nobody any more, nor one whose other call was enough."""
    is_stopped = ctx.cancellation.requested
    if is_stopped or batch.is_enough:
        release_held_calls(ctx, batch)
    why = "the run was stopped" if is_stopped else "the time for work was over"
    if batch.is_enough:
        why = ENOUGH
    yield from finish_pending_calls(ctx, batch, why)
    deliver_results(ctx, [entry for entry in batch.entries if not entry.is_held])
    yield from ctx.tell_waiting("after_tool")


def _plan_batch(ctx: RunContext, calls: tuple[RawCall, ...]) -> list[PlannedCall]:
    reason = ctx.state.wrap_up_reason
    ending = f"the run is ending. {REASONS.get(reason).sentence}" if reason else ""
    return plan_calls(
        calls,
        ctx.ids,
        cap=ctx.state.config.max_tool_calls_per_turn,
        writes=ctx.tools.writes,
        withheld=ctx.withheld_tools,
        withheld_now=ctx.limits.withheld,
        ending=ending,
    )


def _announce(ctx: RunContext, batch: ToolBatch) -> Iterator[OracleStreamChunk]:
    """Show every call, and the results of those that will not be run."""
    for entry in batch.entries:
        yield emit_call(ctx, entry, "refused" if _is_refused(entry) else "pending")
    for entry in batch.entries:
        if entry.outcome is not None:
            yield emit_result(ctx, entry, entry.outcome, batch.result_chars)
    over = sum(e.name not in ctx.withheld_tools for e in batch.entries if _is_refused(e))
    if over and ctx.state.wrap_up_reason is None:
        yield from ctx.tell(_tool_limit_notice(ctx, batch, over))


def _is_refused(entry: PlannedCall) -> bool:
    return entry.outcome is not None and entry.outcome.refused


def _tool_limit_notice(ctx: RunContext, batch: ToolBatch, over: int) -> Notice:
    asked, cap = len(batch.entries), ctx.state.config.max_tool_calls_per_turn
    return build_loop_notice(
        LOOP["tool-limit"],
        f"tool_limit:{ctx.state.turn}",
        {"asked": asked, "limit": cap, "over": over},
        limit_metadata("tool_calls", asked, cap),
        variant="one" if over == 1 else "",
    )


def _start_next(ctx: RunContext, batch: ToolBatch) -> Iterator[OracleStreamChunk]:
    most = min(ctx.state.config.max_parallel_tools, ctx.limits.order.max_parallel or MAX_PARALLEL)
    most -= len(ctx.stragglers)
    while batch.waiting and len(batch.running) < most and _may_start_calls(ctx):
        entry = batch.waiting.popleft()
        entry.started = ctx.clock.monotonic()
        batch.running[entry.id] = spawn(_run_call(ctx, batch, entry), f"tool {entry.name}")
        yield emit_call(ctx, entry, "running")


def _may_start_calls(ctx: RunContext) -> bool:
    return not (ctx.cancellation.requested or ctx.is_past(ctx.calls_deadline))


async def _run_call(ctx: RunContext, batch: ToolBatch, entry: PlannedCall) -> None:
    inbox = ctx.inbox
    context = ToolContext(
        call_id=entry.id,
        user_id=ctx.state.user_id,
        project_id=ctx.state.project_id,
        clock=ctx.clock,
        deadline=ctx.calls_deadline,
        tokens_left=batch.tokens_each,
        config=ctx.state.config,
        emit=partial(_report_chunk, inbox, entry.id),
        withheld_tools=ctx.withheld_tools,
        forbidden_tools=ctx.limits.forbid(ctx.rule_withheld),
        asking_tools=frozenset(ctx.holds.modes),
        holding_rules=ctx.holding_rules,
        keep=lambda outcome: inbox.put_threadsafe(_ResultKept(entry, outcome)),
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
    ctx: RunContext, batch: ToolBatch, item: _CallFinished | _ResultKept | _SubagentChunk
) -> Iterator[OracleStreamChunk]:
    match item:
        case _CallFinished(entry, outcome):
            batch.running.pop(entry.id, None)
            if entry.outcome is None:
                yield from _finish_call(ctx, batch, entry, outcome)
            batch.is_enough = batch.is_enough or (outcome.ok and ctx.limits.order.is_first_enough)
        case _ResultKept(entry, outcome):
            if entry.outcome is None:
                yield from _keep_result(ctx, batch, entry, outcome)
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
    entry.duration_ms = _count_milliseconds(ctx, entry)
    yield emit_result(ctx, entry, outcome, batch.result_chars)
    if outcome.versions:
        yield from emit_stale_sources(ctx, entry, outcome)
    told = entry.kept.sources if entry.kept else ()
    yield from emit_sources(ctx, [source for source in outcome.sources if source not in told])
    for twin in _find_twins(batch, entry):
        yield emit_result(ctx, twin, outcome, batch.result_chars)


def _keep_result(
    ctx: RunContext, batch: ToolBatch, entry: PlannedCall, outcome: ToolOutcome
) -> Iterator[OracleStreamChunk]:
    """Record what stands if nothing more comes of a call, also if the process dies."""
    entry.kept, entry.duration_ms = outcome, _count_milliseconds(ctx, entry)
    for each in (entry, *_find_twins(batch, entry)):
        yield emit_kept_result(ctx, each, outcome, batch.result_chars)
    yield from emit_sources(ctx, outcome.sources)


def _find_twins(batch: ToolBatch, entry: PlannedCall) -> list[PlannedCall]:
    return [twin for twin in batch.entries if twin.same_as == entry.order]


def _count_milliseconds(ctx: RunContext, entry: PlannedCall) -> int:
    """Return how long a call has run; nothing if it never did."""
    if entry.started is None:
        return 0
    return round(1000 * (ctx.clock.monotonic() - entry.started))


def finish_pending_calls(
    ctx: RunContext, batch: ToolBatch, why: str
) -> Iterator[OracleStreamChunk]:
    """Give every call that was cut the result it would otherwise never have."""
    for item in ctx.inbox.drain():
        yield from _apply_item(ctx, batch, item)
    for entry in batch.entries:
        if entry.is_open:
            yield from _finish_call(ctx, batch, entry, build_cut_outcome(entry, why))
