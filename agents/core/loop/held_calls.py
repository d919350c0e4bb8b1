"""Calls that wait for a person: held, let go again, and asked about when the run ends.

A held call has no result until it is decided. The other calls of its turn are run at once.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from agents.core.chunks import Approval, OracleStreamChunk
from agents.core.loop.context import RunContext
from agents.core.loop.tool_batch import ToolBatch
from agents.core.loop.tool_plan import PlannedCall, build_cut_outcome, refusal_outcome
from agents.core.loop.tool_results import emit_call, emit_result

CANNOT_ASK = (
    "Refused: this call needs a person's yes, and a subagent cannot ask for it. Say in your report "
    "what you would have done."
)


def hold_calls(ctx: RunContext, batch: ToolBatch) -> Iterator[OracleStreamChunk]:
    """Hold the calls that need a person's yes, and with them those that would share their results;
    where nobody can be asked, refuse them."""
    for entry in batch.entries:
        if entry.outcome is not None or not _has_to_wait(ctx, batch, entry):
            continue
        entry.same_as = None
        if ctx.holds.can_ask:
            entry.is_held = True
            ctx.holds.calls.append(entry)
            yield emit_call(ctx, entry, "held")
        else:
            ctx.holds.refuse_from_now_on(entry.name)
            yield emit_result(ctx, entry, refusal_outcome(CANNOT_ASK), batch.result_chars)


def _has_to_wait(ctx: RunContext, batch: ToolBatch, entry: PlannedCall) -> bool:
    """Return whether a call needs a yes: it does, or the one that it is the same as. A rule fires
    only so often, and calls that are run once count once for the cap of a turn."""
    if ctx.holds.must_hold(entry):
        return True
    return entry.same_as is not None and not batch.entries[entry.same_as].is_open


def release_held_calls(ctx: RunContext, batch: ToolBatch) -> None:
    """Hold nothing any more: the calls are as those that were never begun."""
    ctx.holds.calls.clear()
    for entry in batch.entries:
        entry.is_held = False


def refuse_held_calls(ctx: RunContext, why: str) -> Iterator[OracleStreamChunk]:
    """Give held calls a result after all, where the run does not end by asking about them."""
    calls, ctx.holds.calls = ctx.holds.calls, []
    for entry in calls:
        yield emit_result(ctx, entry, build_cut_outcome(entry, why), ctx.result_chars(1))


def emit_approval(ctx: RunContext, run_id: str, snapshot: Mapping[str, Any]) -> Approval:
    """Return the question with which the run ends; its behaviour goes on at the snapshot."""
    return ctx.emit(
        Approval,
        approval_id=run_id,
        asker=ctx.holds.asker,
        question=ctx.holds.question,
        calls=tuple(entry.id for entry in ctx.holds.calls),
        snapshot=snapshot,
    )
