"""Calls that an earlier run has held and somebody has decided about: they come first."""

from collections.abc import AsyncGenerator

from agents.core.chunks import OracleStreamChunk
from agents.core.loop.context import RunContext
from agents.core.loop.control import HeldCall
from agents.core.loop.tool_batch import ToolBatch
from agents.core.loop.tool_calls import deliver_tool_results, run_tool_calls
from agents.core.loop.tool_plan import PlannedCall, assistant_message, refusal_outcome
from agents.core.loop.tool_results import emit_call, emit_result
from agents.core.stuck import action_signature

NOT_APPROVED = "Not run: the user said no."
DIFFERENTLY = "Not run: the user wants it done differently."


async def run_decided_calls(
    ctx: RunContext, batch: ToolBatch, calls: tuple[HeldCall, ...]
) -> AsyncGenerator[OracleStreamChunk, None]:
    """Run the calls that were approved, exactly as they were shown, and refuse the others.

    Nobody is asked again: rules hear of them when they have run.
    """
    batch.entries = [_plan_decided(ctx, order, call) for order, call in enumerate(calls)]
    _share_results(ctx, batch.entries)
    ctx.prompt.add_calls(assistant_message("", batch.entries))
    batch.result_chars = ctx.result_chars(len(batch.entries))
    for entry in batch.entries:
        if entry.outcome is not None:
            yield emit_call(ctx, entry, "refused")
            yield emit_result(ctx, entry, entry.outcome, batch.result_chars)
        elif entry.same_as is not None:
            yield emit_call(ctx, entry, "running")
    batch.waiting.extend(entry for entry in batch.entries if entry.is_open)
    batch.tokens_each = ctx.spare_tokens() // max(1, len(batch.waiting))
    async for chunk in run_tool_calls(ctx, batch):
        yield chunk
    for chunk in deliver_tool_results(ctx, batch):
        yield chunk


def _plan_decided(ctx: RunContext, order: int, call: HeldCall) -> PlannedCall:
    signature = action_signature(call.name, call.arguments)
    entry = PlannedCall(order, ctx.ids.make_unique(call.id), call.name, call.arguments, signature)
    if call.decision != "approved":
        text = NOT_APPROVED if call.decision == "refused" else DIFFERENTLY
        entry.outcome = refusal_outcome(f"{text} They said: {call.words}" if call.words else text)
    elif call.name in ctx.withheld_tools:  # no yes goes round what a rule has taken away since
        entry.outcome = refusal_outcome(f"Refused: {call.name} is not available in this run.")
    return entry


def _share_results(ctx: RunContext, entries: list[PlannedCall]) -> None:
    """Let the same call be run once, as in a turn, unless it writes."""
    first: dict[str, int] = {}
    for entry in entries:
        if entry.outcome is None and not ctx.tools.writes(entry.name):
            order = first.setdefault(entry.signature, entry.order)
            entry.same_as = order if order != entry.order else None
