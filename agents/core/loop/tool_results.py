"""Turn the results of calls into chunks for the record and messages for the model."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from agents.core.chunks import (
    OUTCOME_UNKNOWN,
    CallStatus,
    CallView,
    KeptResult,
    OracleStreamChunk,
    Source,
    SourceRef,
    ToolCalled,
    ToolResult,
)
from agents.core.loop.context import RunContext
from agents.core.loop.tool_plan import PlannedCall, find_cause
from agents.core.messages import ToolOutcome
from agents.core.sanitize import neutralise_system_notes, replace_unstorable
from agents.core.tokens import MAX_RESULT_BYTES, truncate_result

MAX_SNIPPET_LENGTH = 500


def emit_call(ctx: RunContext, entry: PlannedCall, status: CallStatus) -> OracleStreamChunk:
    """Return the chunk that shows where a call stands."""
    view = CallView(entry.id, entry.name, entry.arguments, status)
    return ctx.emit(ToolCalled, tool_call=view)


def emit_result(
    ctx: RunContext, entry: PlannedCall, outcome: ToolOutcome, most_chars: int
) -> OracleStreamChunk:
    """Return the call's one result, cut to what the model may get, and the chunk that shows it.

    Where the model gets a summary, the result is kept as long as any may be.
    """
    chars = MAX_RESULT_BYTES if outcome.given else most_chars
    content = _clean_result(outcome.content, chars)
    given = _clean_result(outcome.given, most_chars)
    is_clean = content == outcome.content and given == outcome.given
    entry.outcome = outcome if is_clean else replace(outcome, content=content, given=given)
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


def emit_kept_result(
    ctx: RunContext, entry: PlannedCall, outcome: ToolOutcome, most_chars: int
) -> OracleStreamChunk:
    """Return the chunk of a result that is there, while a summary of it is still to come."""
    return ctx.emit(
        KeptResult,
        tool_call_id=entry.id,
        tool_result=_clean_result(outcome.content, most_chars),
        duration_ms=entry.duration_ms,
        order=entry.order,
    )


def emit_sources(ctx: RunContext, sources: Iterable[SourceRef]) -> Iterator[OracleStreamChunk]:
    """Yield the places that a result was taken from."""
    for source in sources:
        snippet = replace_unstorable(source.snippet)[:MAX_SNIPPET_LENGTH]
        yield ctx.emit(
            Source, source=replace(source, path=replace_unstorable(source.path), snippet=snippet)
        )


def emit_stale_sources(
    ctx: RunContext, entry: PlannedCall, outcome: ToolOutcome
) -> Iterator[OracleStreamChunk]:
    """Record which sources are no longer what the run knows. What it changed itself, it knows."""
    is_own_change = outcome.ok and ctx.tools.writes(entry.name)
    for path, version in outcome.versions:
        known = ctx.versions.get(path.casefold(), "")
        if known and known != version and not is_own_change:
            yield ctx.emit_event("source.stale", id=entry.id, tool=entry.name, path=path)
        ctx.versions[path.casefold()] = version


def deliver_results(ctx: RunContext, entries: Sequence[PlannedCall]) -> None:
    """Deliver results to the model and to the tree, in call order."""
    for entry in entries:
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
                "batch_size": len(entries),
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


def _clean_result(text: str, chars: int) -> str:
    return truncate_result(neutralise_system_notes(replace_unstorable(text)), chars)
