"""What runs ask people: looking at it, and deciding."""

from typing import cast
from uuid import UUID

from django.contrib.auth.models import User

from agents.approvals import PendingApproval
from agents.models import ApprovalRequest
from agents.models.api_tokens import Scope
from agents.vault.diffs import TextDiff
from chat.api import auth, serializers
from chat.api.approval_schemas import ApprovalView, Decided, HeldCallView, NewDecision
from chat.api.framework import ApiRequest, endpoint
from chat.api.runs import FOLLOW_SCOPES, start_prepared, wait_until_ended
from chat.api.runtime import run_db
from chat.api.schemas import RunView
from chat.api.throttling import Rate
from chat.rendering.approval_card import WaitingCall, build_card
from chat.services import approvals
from chat.services.ask import PreparedRun

_ROW_FIELDS = (
    "asker", "digest", "asked_at", "expires_at", "words", "decided_at", "decided_via",
)  # fmt: skip
_SIGNS = {"added": "+", "removed": "-", "same": " "}


@endpoint(
    "GET",
    "oracle/runs/<uuid:run_id>/approval",
    "What a paused run asks",
    scopes=FOLLOW_SCOPES,
    answers=ApprovalView,
)
async def show_approval(request: ApiRequest, run_id: UUID) -> ApprovalView:
    """404: that run has asked nothing."""
    return await run_db(lambda: _serialize(approvals.get_pending(request.user, run_id)))


@endpoint(
    "POST",
    "oracle/runs/<uuid:run_id>/approval",
    "Decide what a paused run asks, and wait for the whole answer",
    scopes=[Scope.ASK],
    rate=Rate.ASK,
    takes=NewDecision,
    answers=RunView,
    errors=(404, 409),
)
async def decide_approval(request: ApiRequest, run_id: UUID, body: NewDecision) -> RunView:
    """The run that goes on does exactly what was approved first. 409 says why a decision cannot be
    taken; then nothing was done."""
    prepared = await run_db(lambda: _prepare(request.user, run_id, body))
    run = await start_prepared(prepared)
    await wait_until_ended(run.pk)
    await auth.recheck_token(request.token)
    return await run_db(lambda: serializers.load_run_view(request.user, run.pk))


def _prepare(user: User, run_id: UUID, body: NewDecision) -> PreparedRun:
    calls = {call_id: (one.decision, one.words) for call_id, one in body.calls.items()}
    verdict = approvals.build_verdict(body.decision, body.words, body.digest, calls)
    return approvals.decide(user, run_id, verdict, via=ApprovalRequest.Way.API.value)


def _serialize(pending: PendingApproval) -> ApprovalView:
    row = pending.row
    values = {name: getattr(row, name) for name in _ROW_FIELDS}
    return ApprovalView(
        **values,
        run=row.run_id,
        question=pending.question,
        calls=[_serialize_call(call) for call in build_card(pending).calls],
        decision=cast(Decided, row.verdict),
        continuation=row.continuation_id,
    )


def _serialize_call(call: WaitingCall) -> HeldCallView:
    row = call.pending.row
    return HeldCallView(
        id=row.call_id,
        name=row.name,
        arguments=dict(call.pending.arguments),
        digest=row.digest,
        diff=_format_diff(call.change.diff) if call.change is not None else "",
        conflict=call.has_conflict,
        decision=cast(Decided, row.verdict),
        words=row.words,
    )


def _format_diff(diff: TextDiff) -> str:
    return "\n".join(
        f"{_SIGNS[line.kind]}{''.join(part.text for part in line.parts)}"
        for line in diff.lines
        if line.kind in _SIGNS
    )
