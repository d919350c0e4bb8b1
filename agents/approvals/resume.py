"""Build what a run starts with when it continues after a decision."""

from collections.abc import Collection
from dataclasses import replace
from typing import cast
from uuid import UUID

from agents.approvals.requests import PendingApproval, PendingCall, load_approval
from agents.core.loop import ApprovalDecision, Control, HeldCall, Resume
from agents.models import AgentRun, ApprovalCall, ApprovalRequest, ApprovalState, NoteVersion

MAX_CHAIN = 100
"""Continuations that are looked back at."""


def resume_decided(control: Control, run: AgentRun, continued_from: UUID) -> Control:
    """Give a run that goes on from another what was decided there."""
    consented = has_consent(continued_from, control.asks)
    return replace(control, resume=load_resume(run), has_consent=consented)


def load_resume(run: AgentRun) -> Resume | None:
    """Return what was decided and this run is to do; None if it goes on from no decision."""
    pending = _find_pending(run.pk)
    if pending is None:
        return None
    row = pending.row
    return Resume(
        decision=cast(ApprovalDecision, row.verdict),
        words=row.words,
        calls=tuple(_to_held_call(call) for call in pending.calls),
        snapshot=pending.snapshot or None,
    )


def _find_pending(run_id: UUID) -> PendingApproval | None:
    row = ApprovalRequest.objects.filter(continuation=run_id).only("pk").first()
    return load_approval(row.pk) if row is not None else None


def _to_held_call(call: PendingCall) -> HeldCall:
    """Return a call as it is to be done. What can no longer be read as it was asked is not."""
    row = call.row
    verdict = row.verdict if call.is_as_asked else ApprovalState.REFUSED
    return HeldCall(
        id=row.call_id,
        name=row.name,
        arguments=call.arguments,
        decision=cast(ApprovalDecision, verdict),
        words=row.words,
    )


def find_known_versions(run_id: UUID) -> dict[str, int]:
    """Return the notes that a run may change without reading them again, as somebody has seen
    them who agreed: their paths and versions."""
    pending = _find_pending(run_id)
    if pending is None:
        return {}
    seen = {
        str(call.arguments["path"]): call.row.note_version
        for call in pending.calls
        if call.row.verdict == ApprovalState.APPROVED
        and call.row.note_version
        and "path" in call.arguments
    }
    stored = NoteVersion.objects.filter(pk__in=seen.values())
    numbers = dict(stored.values_list("pk", "number"))
    return {path: numbers[key] for path, key in seen.items() if key in numbers}


def has_consent(run_id: UUID | None, tools: Collection[str]) -> bool:
    """Return whether somebody has agreed to a call of one of these tools, which ask, in this run or
    in one that it goes on from. A yes to what a behaviour asks, or to another tool's call that a
    rule has held, is no answer to them."""
    agreed = ApprovalCall.objects.filter(verdict=ApprovalState.APPROVED, name__in=tools)
    for _ in range(MAX_CHAIN):
        if run_id is None or not tools:
            return False
        if agreed.filter(approval=run_id).exists():
            return True
        run_id = AgentRun.objects.filter(pk=run_id).values_list("continued_from", flat=True).first()
    return False
