"""Deciding what a paused run has asked: a question of its own, that goes on from there.

    prepared = decide(user, run_id, verdict, via="page")
    run = await runtime.start(prepared.request, prepared.attach)

The decision is stored in the transaction that creates the run which does it: once, or not at all.
"""

from collections.abc import Mapping
from uuid import UUID

from django.contrib.auth.models import User

from agents.approvals import (
    MAX_WORDS_LENGTH,
    ApprovalError,
    ApprovalVerdict,
    CallVerdict,
    PendingApproval,
    check_verdict,
    load_approval,
    record_verdict,
)
from agents.core.sanitize import replace_unstorable
from agents.core.tokens import truncate_middle
from agents.models import AgentRun, ApprovalState
from chat.conversations import queries
from chat.errors import InvalidAction, NotFoundForUser
from chat.services.ask import DEFAULT_OPTIONS, MAX_QUESTION_LENGTH, PreparedRun, RunOptions
from chat.services.continue_run import follow_up

CHOICES = (ApprovalState.APPROVED, ApprovalState.REFUSED, ApprovalState.DIFFERENTLY)
_NO_CALLS: Mapping[str, tuple[str, str]] = {}


def get_pending(user: User, run_id: UUID) -> PendingApproval:
    """Return what a run of this person has asked, decided or not."""
    exchange = queries.get_exchange(user, run_id)
    pending = load_approval(exchange.run_id)
    if pending is None:
        raise NotFoundForUser("That run has asked nothing.")
    return pending


def build_verdict(
    verdict: str, words: str, digest: str, calls: Mapping[str, tuple[str, str]] = _NO_CALLS
) -> ApprovalVerdict:
    """Read what somebody has decided; `calls` are those that differ, each with its own words."""
    whole = _read_verdict(verdict, words)
    each = {call_id: _read_verdict(*one) for call_id, one in calls.items()}
    return ApprovalVerdict(verdict=whole.verdict, words=whole.words, digest=digest, calls=each)


def _read_verdict(verdict: str, words: str) -> CallVerdict:
    words = replace_unstorable(words).strip()
    if verdict not in CHOICES:
        raise InvalidAction("Say approved, refused or differently.")
    if len(words) > MAX_WORDS_LENGTH:
        raise InvalidAction(f"Say it in at most {MAX_WORDS_LENGTH:,} characters.")
    if verdict == ApprovalState.DIFFERENTLY and not words:
        raise InvalidAction("Say what is to be done differently.")
    return CallVerdict(ApprovalState(verdict), words)


def decide(
    user: User,
    run_id: UUID,
    verdict: ApprovalVerdict,
    *,
    via: str,
    options: RunOptions = DEFAULT_OPTIONS,
) -> PreparedRun:
    """Prepare the run that does what was decided."""
    pending = get_pending(user, run_id)
    try:
        check_verdict(pending, verdict)
    except ApprovalError as error:
        raise InvalidAction(str(error)) from None
    asking = follow_up(user, pending.row.run_id, describe_verdict(pending, verdict), options)

    def attach(run: AgentRun) -> None:
        current = load_approval(pending.row.pk)  # it may have been erased meanwhile
        try:
            record_verdict(current or pending, verdict, by=user, via=via, run=run)
        except ApprovalError as error:
            raise InvalidAction(str(error)) from None
        asking.attach(run)

    return PreparedRun(asking.request, attach)


def describe_verdict(pending: PendingApproval, verdict: ApprovalVerdict) -> str:
    """Say a decision as its person would: it stands in the conversation, and the model reads it."""
    each = [(call, verdict.for_call(call.row.call_id)) for call in pending.calls]
    if not any(one != CallVerdict(verdict.verdict, verdict.words) for _, one in each):
        return _say(verdict.verdict, verdict.words)
    said = "\n".join(f"{call.name}: {_say(one.verdict, one.words)}" for call, one in each)
    return truncate_middle(said, MAX_QUESTION_LENGTH)  # each call's result has all of its words


def _say(verdict: str, words: str) -> str:
    match verdict:
        case ApprovalState.APPROVED:
            return f"Yes, go ahead. {words}".strip()
        case ApprovalState.REFUSED:
            return f"No, leave it. {words}".strip()
    return f"Do it differently: {words}"
