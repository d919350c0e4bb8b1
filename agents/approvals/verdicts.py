"""Deciding: once, by the one who was asked, about exactly what was shown.

    check_verdict(pending, decision)          # says in words what is wrong, changes nothing
    record_verdict(pending, decision, run)    # in the transaction that creates the next run

The second of two decisions finds the row taken, in whatever process; so does one that comes after
the process died.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from django.contrib.auth.models import User
from django.utils import timezone

from agents.approvals.changes import find_note_path, find_note_version
from agents.approvals.requests import PendingApproval, PendingCall
from agents.audit.log import log_action
from agents.models import AgentRun, ApprovalCall, ApprovalRequest, ApprovalState, AuditEntry

MAX_WORDS_LENGTH = 2_000
GONE = "What was asked can no longer be read, so it cannot be done. Say no, or ask again."


class ApprovalError(Exception):
    """A decision cannot be taken. The message is for the person; nothing was done."""


class ApprovalClosed(ApprovalError):
    """There is nothing to decide any more."""


class ApprovalChanged(ApprovalError):
    """What was decided about is not, or no longer, what would be done."""


@dataclass(frozen=True, slots=True)
class CallVerdict:
    """About one call."""

    verdict: ApprovalState
    words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalVerdict:
    """What a person decides. `calls` are those that differ from the rest, by their ids."""

    verdict: ApprovalState
    words: str = ""
    digest: str
    """Of what they were shown."""
    calls: Mapping[str, CallVerdict] = field(default_factory=dict)

    def for_call(self, call_id: str) -> CallVerdict:
        return self.calls.get(call_id, CallVerdict(self.verdict, self.words))


def check_verdict(pending: PendingApproval, decision: ApprovalVerdict) -> None:
    """Raise ApprovalError if a decision cannot be taken as things are now."""
    row = pending.row
    if not row.is_open:
        raise ApprovalClosed(_describe_decided(row))
    if row.is_expired:
        raise ApprovalClosed(
            f"This question expired on {row.expires_at:%d %B %Y}, and nothing was done. "
            "Ask again if you still want it."
        )
    if decision.digest != row.digest:
        raise ApprovalChanged("This is not what is waiting for you. Look at it again, then decide.")
    known = {call.row.call_id for call in pending.calls}
    if unknown := set(decision.calls) - known:
        raise ApprovalError(f"No call {min(unknown)!r} waits for you.")
    if decision.verdict == ApprovalState.APPROVED and not pending.is_readable:
        raise ApprovalChanged(GONE)
    for call in pending.calls:
        if decision.for_call(call.row.call_id).verdict == ApprovalState.APPROVED:
            _check_unchanged(row.run, call)


def find_decided(run_id: UUID | None) -> str:
    """Return the sentence that what a run had asked is decided already; empty if it is not."""
    row = ApprovalRequest.objects.filter(pk=run_id).exclude(verdict=ApprovalState.OPEN).first()
    return _describe_decided(row) if row is not None else ""


def _describe_decided(row: ApprovalRequest) -> str:
    return f"This was decided already: {row.get_verdict_display().lower()}."


def _check_unchanged(run: AgentRun, call: PendingCall) -> None:
    if not call.is_as_asked:
        raise ApprovalChanged(GONE)
    if call.row.note_version is None:  # it changes no note, or was asked when that was not kept
        return
    if find_note_version(run.project_id, call.name, call.arguments) != call.row.note_version:
        path = find_note_path(call.name, call.arguments)
        raise ApprovalChanged(
            f"Conflict: {path} has changed since you were asked. Nothing was written. "
            "Choose Differently to have the new text read first."
        )


def record_verdict(
    pending: PendingApproval, decision: ApprovalVerdict, *, by: User, via: str, run: AgentRun
) -> None:
    """Take a decision for the run that does it: in the transaction that creates that run."""
    check_verdict(pending, decision)
    each = {call.row.call_id: decision.for_call(call.row.call_id) for call in pending.calls}
    taken = ApprovalRequest.objects.filter(pk=pending.row.pk, verdict=ApprovalState.OPEN).update(
        verdict=_sum_up(decision, each.values()),
        words=decision.words,
        decided_at=timezone.now(),
        decided_by=by,
        decided_via=via,
        continuation=run,
    )
    if not taken:
        pending.row.refresh_from_db()
        raise ApprovalClosed(_describe_decided(pending.row))
    rows = [call.row for call in pending.calls]
    for row in rows:
        row.verdict, row.words = each[row.call_id].verdict, each[row.call_id].words
    ApprovalCall.objects.bulk_update(rows, ["verdict", "words"])
    _log(pending.row.run, by, via, [str(one.verdict) for one in each.values()], run)


def _sum_up(decision: ApprovalVerdict, each: Collection[CallVerdict]) -> ApprovalState:
    """Return what was decided as a whole: a yes, if it is one to any call."""
    found = {one.verdict for one in each} or {decision.verdict}
    if ApprovalState.APPROVED in found:
        return ApprovalState.APPROVED
    return ApprovalState.REFUSED if len(found) > 1 else found.pop()


def close_undecided(run_ids: Iterable[UUID], *, by: User, instead: AgentRun) -> None:
    """Refuse what these runs still ask: another question was asked instead."""
    open_rows = ApprovalRequest.objects.filter(pk__in=list(run_ids), verdict=ApprovalState.OPEN)
    for row in open_rows.select_related("run"):
        taken = ApprovalRequest.objects.filter(pk=row.pk, verdict=ApprovalState.OPEN).update(
            verdict=ApprovalState.NOT_DECIDED,
            decided_at=timezone.now(),
            decided_by=by,
            decided_via=ApprovalRequest.Way.QUESTION,
        )
        if taken:
            calls = ApprovalCall.objects.filter(approval=row)
            count = calls.update(verdict=ApprovalState.NOT_DECIDED)
            _log(row.run, by, "question", [ApprovalState.NOT_DECIDED.value] * count, instead)


def _log(run: AgentRun, by: User, via: str, verdicts: list[str], next_run: AgentRun) -> None:
    log_action(
        AuditEntry.Verb.DECIDE, by=by, run=run, via=via, verdicts=verdicts, next=str(next_run.pk)
    )
