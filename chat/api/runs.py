"""Somebody's runs, found for them or not at all, and told as the API tells them."""

from datetime import UTC, datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import QuerySet

from agents.core.chunks import System
from agents.core.reasons import Outcome, reason_of
from agents.core.record import RunRecord
from agents.models import AgentRun
from agents.runtime.settling import read_back
from chat.api.schemas import Notice, RunView, Why
from chat.errors import NotYours


def _of(user: User, run_id: UUID) -> QuerySet[AgentRun]:
    return AgentRun.objects.filter(pk=run_id, user=user, project__members=user)


def is_theirs(user: User, run_id: UUID) -> bool:
    return _of(user, run_id).exists()


def get(user: User, run_id: UUID) -> AgentRun:
    found = _of(user, run_id).first()
    if found is None:
        raise NotYours("There is no such run of yours.")
    return found


def read(user: User, run_id: UUID) -> RunView:
    run = get(user, run_id)
    record, _ = read_back(run)
    return told(run, record)


def told(run: AgentRun, record: RunRecord) -> RunView:
    return RunView(
        id=run.pk,
        conversation_id=run.conversation_key,
        project_id=run.project_id,
        continued_from=run.continued_from_id,
        client_message_id=run.client_message_id,
        question=run.question,
        answer=run.answer or record.answer,
        explanation=run.explanation,
        outcome=Outcome(run.outcome) if run.outcome else None,
        reason=run.reason,
        why=_why(run.reason) if run.reason else None,
        also_triggered=list(run.also_triggered),
        error=run.error,
        sources=[chunk.source for chunk in record.sources],
        notices=[_notice(chunk) for chunk in record.notices],
        turns=run.turns,
        tool_calls=run.tool_calls,
        tokens_in=run.tokens_in,
        tokens_out=run.tokens_out,
        usage_source=run.usage_source,
        model=run.model,
        tree=run.tree,
        config=run.config,
        last_seq=run.last_seq,
        started_at=run.started_at,
        ended_at=run.ended_at,
    )


def _why(code: str) -> Why:
    reason = reason_of(code)
    return Why(label=reason.label, sentence=reason.sentence, remedy=reason.remedy)


def _notice(chunk: System) -> Notice:
    return Notice(
        system_type=chunk.system_type,
        system_message=chunk.system_message,
        severity=chunk.severity,
        at=datetime.fromtimestamp(chunk.at, UTC),
    )
