"""Last entries of a run: the values of a finished one, the chunks of an interrupted one."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from agents import ledger
from agents.approvals import store_approval
from agents.core.chunks import (
    OUTCOME_UNKNOWN,
    Done,
    Error,
    KeptResult,
    OracleStreamChunk,
    SystemMessage,
    SystemType,
    ToolResult,
)
from agents.core.reasons import REASONS, Outcome, Severity
from agents.core.run_record import RunRecord
from agents.models import AgentRun

MAX_NAME_LENGTH = 200
"""Of a tool; a model may ask for any."""
UNKNOWN_RESULTS = {
    "interrupted": f"{OUTCOME_UNKNOWN} the server stopped during this call. "
    "It may have taken effect.",
    "internal_error": f"{OUTCOME_UNKNOWN} something went wrong inside Oracle. "
    "It may have taken effect.",
}

NOT_ASKED = "Not run: it needed a yes, and the run ended before anybody could be asked."


def interrupted_chunks(
    code: str, record: RunRecord, seq: int, model: str, at: float, note: str = ""
) -> list[OracleStreamChunk]:
    """Return the end of a run that was cut off: results for its open calls, then why.

    `note` is why an administrator stopped it.
    """
    reason = REASONS.get(code)
    message = f"{reason.sentence} {reason.remedy}"
    if code == "user_cancelled" and note:
        message = f"Stopped by an administrator: {note.rstrip('.')}. {reason.remedy}"
    unknown = UNKNOWN_RESULTS.get(code, UNKNOWN_RESULTS["interrupted"])
    chunks: list[OracleStreamChunk] = [
        _build_result(
            call.id,
            order,
            record.kept_results.get(call.id),
            NOT_ASKED if call.status == "held" else unknown,
        )
        for order, call in enumerate(record.calls.values())
        if call.id not in record.results
    ]
    kind = _NOTICES.get(code)
    if kind is not None:
        chunks.append(_cut_off_notice(kind, message, reason.severity))
    chunks += [
        Error(code=kind or code, error=message),
        Done(
            termination_reason=reason.code,
            outcome=reason.outcome.value,
            turns_used=sum(turn.answered for turn in record.turns),
            tokens_used=sum(sum_tokens(record)),
            usage_source="mixed" if record.turns else "provider",
            model_used=model,
        ),
    ]
    return [replace(chunk, seq=seq + n, at=at) for n, chunk in enumerate(chunks, start=1)]


def _build_result(call_id: str, order: int, kept: KeptResult | None, unknown: str) -> ToolResult:
    """Return the result of a call that was cut off: what it had brought, if it had."""
    if kept is None:
        return ToolResult(
            tool_call_id=call_id, tool_result=unknown, ok=False, duration_ms=0, order=order
        )
    return ToolResult(
        tool_call_id=call_id,
        tool_result=kept.tool_result,
        ok=True,
        duration_ms=kept.duration_ms,
        order=kept.order,
        unfinished=True,
    )


_NOTICES: dict[str, SystemType] = {"interrupted": "interrupted", "user_cancelled": "cancelled"}


def _cut_off_notice(kind: SystemType, message: str, severity: Severity) -> SystemMessage:
    return SystemMessage(
        system_type=kind,
        system_message=message,
        severity=severity,
        metadata={"limit_type": kind},
    )


def sum_tokens(record: RunRecord) -> tuple[int, int]:
    """Return tokens in and out, as far as turns have ended. A subagent's count as sent."""
    sent = sum(turn.prompt_tokens + turn.subagent_tokens for turn in record.turns)
    return sent, sum(turn.completion_tokens for turn in record.turns)


def final_values(record: RunRecord) -> ledger.FinalValues:
    """Return what is stored of a run once it has ended."""
    return ledger.FinalValues(
        _run_values(record),
        _tool_values(record),
        also_store=_list_asked(record),
        rule_states=record.rule_states,
    )


def _list_asked(record: RunRecord) -> list[Callable[[AgentRun], None]]:
    """Return what stores the question of a run that was paused, if it was."""
    if record.done is None or record.done.outcome != Outcome.PAUSED or record.approval is None:
        return []
    return [partial(store_approval, chunk=record.approval, held=record.held_calls)]


def _tool_values(record: RunRecord) -> list[dict[str, Any]]:
    """Return how each tool did."""
    found: dict[str, dict[str, Any]] = {}
    for call_id, call in record.calls.items():
        name = call.name[:MAX_NAME_LENGTH]
        tool = found.setdefault(name, {"name": name, **dict.fromkeys(_TOOL_COUNTERS, 0)})
        if call.status == "held":
            continue
        if call.status == "refused":
            tool["refused"] += 1
            continue
        tool["calls"] += 1
        if (result := record.results.get(call_id)) is not None:
            tool["failed"] += not result.ok
            tool["total_ms"] += result.duration_ms
            tool["slowest_ms"] = max(tool["slowest_ms"], result.duration_ms)
    return list(found.values())


_TOOL_COUNTERS = ("calls", "failed", "refused", "total_ms", "slowest_ms")


def _run_values(record: RunRecord) -> dict[str, Any]:
    done = record.done
    if done is None:
        raise ValueError("the run has not ended")
    sent, written = sum_tokens(record)
    return {
        "answer": record.answer,
        "explanation": done.explanation,
        "outcome": done.outcome,
        "reason": done.termination_reason,
        "also_triggered": list(done.also_triggered),
        "error": record.error.error if record.error else "",
        "wrapped_up": any(turn.wrap_up and turn.answered for turn in record.turns),
        "turns": done.turns_used,
        "tool_calls": sum(call.status not in ("refused", "held") for call in record.calls.values()),
        "tokens_in": sent,
        "tokens_out": written,
        "usage_source": done.usage_source,
        "ended_at": datetime.fromtimestamp(done.at, UTC),
    }
