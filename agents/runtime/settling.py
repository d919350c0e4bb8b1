"""Runs whose process is gone: found, taken over, and ended as interrupted with all they wrote."""

import logging
import os
import socket
import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import InterfaceError, OperationalError
from django.db.models import F, Q
from django.utils import timezone

from agents.core.chunks import OUTCOME_UNKNOWN, Chunk, Done, Error, System, ToolResult
from agents.core.reasons import REASONS
from agents.core.record import RunRecord
from agents.ledger import store
from agents.models import AgentRun

log = logging.getLogger(__name__)

BOOT = uuid.uuid4().hex
LONGEST_NAME = 200
"""Of a tool; a model may ask for any."""
UNKNOWN = f"{OUTCOME_UNKNOWN} the server stopped during this call. It may have taken effect."


def owner() -> str:
    """This process, told apart from every other one, also from itself after a restart."""
    return f"{socket.gethostname()}:{os.getpid()}:{BOOT}"


def sweep(lease: timedelta, is_going: Callable[[UUID], bool]) -> int:
    """End every run that nobody drives any more; how many there were.

    `is_going` knows the runs of this process. It is asked after the rows were read: a run is
    known to its process before it has a row.
    """
    return sum(_settle_safely(run, lease) for run in _abandoned(is_going))


def _settle_safely(run: AgentRun, lease: timedelta) -> bool:
    """One run that cannot be read must not keep a server from starting, or others unsettled."""
    try:
        return _settle(run, lease)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        log.exception("run %s cannot be settled", run.pk)
        return False


def _abandoned(is_going: Callable[[UUID], bool]) -> list[AgentRun]:
    """Active runs with an expired lease, or of a process of this host that has dropped them."""
    now = timezone.now()
    expired, local = Q(lease_until__lt=now), Q(owner__startswith=f"{socket.gethostname()}:")
    found = AgentRun.objects.filter(expired | local, outcome__isnull=True)
    return [
        run
        for run in found
        if not is_going(run.pk)
        and (run.owner == owner() or _is_dead(run.owner) or not _is_leased(run, now))
    ]


def _is_leased(run: AgentRun, now: datetime) -> bool:
    return run.lease_until is not None and run.lease_until > now


def _is_dead(name: str) -> bool:
    """Whether an owner on this host has gone. Of other hosts only the lease tells."""
    host, pid, boot = name.rsplit(":", 2)
    if host != socket.gethostname():
        return False
    if int(pid) == os.getpid():
        return boot != BOOT
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _settle(run: AgentRun, lease: timedelta) -> bool:
    """Take a run over and end it. False when somebody else was quicker."""
    taken = AgentRun.objects.filter(pk=run.pk, fence=run.fence, outcome__isnull=True).update(
        fence=F("fence") + 1, owner=owner(), lease_until=timezone.now() + lease
    )
    if not taken:
        return False
    record, seq = read_back(run)
    chunks = interruption(record, seq, run.model, datetime.now(UTC).timestamp())
    for chunk in chunks:
        record.add(chunk)
    hold = store.Hold(run.pk, run.fence + 1)
    held = store.write([store.Commit(hold, chunks, final_of(record))], lease)
    return run.pk in held


def read_back(run: AgentRun) -> tuple[RunRecord, int]:
    """A run's record from its rows, and its newest number."""
    record, seq = RunRecord(), 0
    for page in store.pages(run.pk):
        seq = page.upto
        for chunk in page.chunks:
            record.add(chunk)
    return record, seq


def interruption(record: RunRecord, seq: int, model: str, at: float) -> list[Chunk]:
    """The end of a run that was cut off: results for its open calls, then why."""
    reason = REASONS.get("interrupted")
    message = f"{reason.sentence} {reason.remedy}"
    chunks: list[Chunk] = [
        ToolResult(tool_call_id=call_id, tool_result=UNKNOWN, ok=False, duration_ms=0, order=order)
        for order, call_id in enumerate(record.calls)
        if call_id not in record.results
    ]
    chunks += [
        System(
            system_type="interrupted",
            system_message=message,
            severity=reason.severity,
            metadata={"limit_type": "interrupted"},
        ),
        Error(code=reason.code, error=message),
        Done(
            termination_reason=reason.code,
            outcome=reason.outcome.value,
            turns_used=sum(turn.answered for turn in record.turns),
            tokens_used=sum(tokens(record)),
            usage_source="mixed" if record.turns else "provider",
            model_used=model,
        ),
    ]
    return [replace(chunk, seq=seq + n, at=at) for n, chunk in enumerate(chunks, start=1)]


def tokens(record: RunRecord) -> tuple[int, int]:
    """Tokens in and out, as far as turns have ended. A subagent's count as sent."""
    sent = sum(turn.prompt_tokens + turn.subagent_tokens for turn in record.turns)
    return sent, sum(turn.completion_tokens for turn in record.turns)


def final_of(record: RunRecord) -> store.Ending:
    """What is stored of a run once it has ended."""
    return store.Ending(_values(record), _tools(record))


def _tools(record: RunRecord) -> list[dict[str, Any]]:
    """How each tool did."""
    found: dict[str, dict[str, Any]] = {}
    for call_id, call in record.calls.items():
        name = call.name[:LONGEST_NAME]
        tool = found.setdefault(name, {"name": name, **dict.fromkeys(_COUNTS, 0)})
        if call.status == "refused":
            tool["refused"] += 1
            continue
        tool["calls"] += 1
        if (result := record.results.get(call_id)) is not None:
            tool["failed"] += not result.ok
            tool["total_ms"] += result.duration_ms
            tool["slowest_ms"] = max(tool["slowest_ms"], result.duration_ms)
    return list(found.values())


_COUNTS = ("calls", "failed", "refused", "total_ms", "slowest_ms")


def _values(record: RunRecord) -> dict[str, Any]:
    done = record.done
    if done is None:
        raise ValueError("the run has not ended")
    sent, written = tokens(record)
    return {
        "answer": record.answer,
        "explanation": done.explanation,
        "outcome": done.outcome,
        "reason": done.termination_reason,
        "also_triggered": list(done.also_triggered),
        "error": record.error.error if record.error else "",
        "wrapped_up": any(turn.wrap_up and turn.answered for turn in record.turns),
        "turns": done.turns_used,
        "tool_calls": sum(call.status != "refused" for call in record.calls.values()),
        "tokens_in": sent,
        "tokens_out": written,
        "usage_source": done.usage_source,
        "ended_at": datetime.fromtimestamp(done.at, UTC),
        "lease_until": None,
    }
