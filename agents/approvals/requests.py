"""The question of a paused run: stored with its end, and read back from its own events."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from agents.approvals.changes import find_note_version
from agents.core.chunks import Approval, CallView, OracleStreamChunk, ToolCalled
from agents.core.reasons import Outcome
from agents.ledger import load_chunks
from agents.models import AgentRun, ApprovalCall, ApprovalRequest
from agents.models.approvals import APPROVAL_LIFETIME

MAX_NAME_LENGTH = 200
_KINDS = (Approval.type, ToolCalled.type)


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A call that waits, as the run's record has it, and its row."""

    row: ApprovalCall
    arguments: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.row.name

    @property
    def is_as_asked(self) -> bool:
        """Whether the record still says what was asked: not after it was erased, or damaged."""
        return call_digest(self.row.name, self.arguments) == self.row.digest


@dataclass(frozen=True, slots=True)
class PendingApproval:
    """What a run has asked, with the words from its record."""

    row: ApprovalRequest
    question: str
    snapshot: Mapping[str, Any]
    calls: tuple[PendingCall, ...]

    @property
    def is_readable(self) -> bool:
        """Whether the record still says what was asked, where it is about no call."""
        return bool(self.calls or self.question or self.snapshot)


def store_approval(run: AgentRun, chunk: Approval, held: Iterable[CallView]) -> None:
    """Store what a run asks, in the transaction that ends it."""
    rows = [_build_row(run, order, call) for order, call in enumerate(held)]
    digest = _digest(
        [str(run.pk), chunk.asker, chunk.question, chunk.snapshot, [row.digest for row in rows]]
    )
    expires_at = timezone.now() + APPROVAL_LIFETIME
    ApprovalRequest.objects.create(run=run, asker=chunk.asker, digest=digest, expires_at=expires_at)
    ApprovalCall.objects.bulk_create(rows)


def _build_row(run: AgentRun, order: int, call: CallView) -> ApprovalCall:
    name, arguments = call.name[:MAX_NAME_LENGTH], _get_arguments(call)
    return ApprovalCall(
        approval_id=run.pk,
        order=order,
        call_id=call.id,
        name=name,
        digest=call_digest(name, arguments),
        note_version=find_note_version(run.project_id, name, arguments),
    )


def load_approval(run_id: UUID) -> PendingApproval | None:
    """Return what a run has asked; None if it has asked nothing."""
    rows = ApprovalRequest.objects.select_related("run", "decided_by").prefetch_related("calls")
    row = rows.filter(pk=run_id).first()
    if row is None:
        return None
    asked, views = _read_record(load_chunks(run_id, _KINDS))
    calls = tuple(
        PendingCall(call, _get_arguments(views.get(call.call_id))) for call in row.calls.all()
    )
    if asked is None:
        return PendingApproval(row, "", {}, calls)
    return PendingApproval(row, asked.question, asked.snapshot, calls)


def list_approvals(run: AgentRun) -> list[ApprovalRequest]:
    """Return what was decided before a run began, which goes on from there, and what it asks."""
    if run.continued_from_id is None and run.outcome != Outcome.PAUSED:
        return []
    rows = ApprovalRequest.objects.filter(Q(continuation=run) | Q(run=run))
    return list(rows.order_by("asked_at").select_related("decided_by").prefetch_related("calls"))


def _read_record(
    chunks: Iterable[OracleStreamChunk],
) -> tuple[Approval | None, dict[str, CallView]]:
    asked, views = None, {}
    for chunk in chunks:
        if isinstance(chunk, Approval):
            asked = chunk
        elif isinstance(chunk, ToolCalled) and not chunk.parent:
            views[chunk.tool_call.id] = chunk.tool_call
    return asked, views


def _get_arguments(view: CallView | None) -> Mapping[str, Any]:
    return view.arguments if view is not None and isinstance(view.arguments, Mapping) else {}


def call_digest(name: str, arguments: Mapping[str, Any]) -> str:
    return _digest([name, arguments])


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=dict)
    return hashlib.sha256(text.encode()).hexdigest()
