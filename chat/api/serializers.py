"""Somebody's runs, found for them or not at all, and told as the API tells them."""

from datetime import UTC, datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import QuerySet

from agents.core.chunks import SystemMessage
from agents.core.reasons import Outcome, get_reason
from agents.core.run_record import RunRecord
from agents.ledger import load_run_record
from agents.models import AgentRun
from agents.projects.queries import runs_for
from agents.run_serializer import SETUP_FIELDS, TIME_FIELDS, TOKEN_FIELDS, get_run_values
from agents.runtime import describe_silence
from chat.api.schemas import Notice, RunView, Why
from chat.errors import NotFoundForUser

RUN_FIELDS = (
    "id", "conversation_id", "project_id", "continued_from", "client_message_id", "question",
    "explanation", "reason", "also_triggered", "error", "turns", "tool_calls", *TOKEN_FIELDS,
    *SETUP_FIELDS, "last_seq", *TIME_FIELDS,
)  # fmt: skip


def _readable_runs(user: User, run_id: UUID) -> QuerySet[AgentRun]:
    return runs_for(user).filter(pk=run_id)


def user_can_read(user: User, run_id: UUID) -> bool:
    return _readable_runs(user, run_id).exists()


def get_run(user: User, run_id: UUID) -> AgentRun:
    found = _readable_runs(user, run_id).first()
    if found is None:
        raise NotFoundForUser("You have no such run.")
    return found


def load_run_view(user: User, run_id: UUID) -> RunView:
    run = get_run(user, run_id)
    return serialize_run(run, load_run_record(run.pk))


def serialize_run(run: AgentRun, record: RunRecord) -> RunView:
    answer = run.answer or record.answer
    record.used_sources.read(answer)
    return RunView(
        **get_run_values(run, RUN_FIELDS),
        outcome=Outcome(run.outcome) if run.outcome else None,
        answer=answer,
        why=_serialize_reason(run.reason) if run.reason else None,
        silence=describe_silence(run),
        sources=list(record.used_sources),
        sources_note=record.used_sources.note(run.outcome),
        notices=[_serialize_notice(chunk) for chunk in record.notices],
    )


def _serialize_reason(code: str) -> Why:
    reason = get_reason(code)
    return Why(label=reason.label, sentence=reason.sentence, remedy=reason.remedy)


def _serialize_notice(chunk: SystemMessage) -> Notice:
    return Notice(
        system_type=chunk.system_type,
        system_message=chunk.system_message,
        severity=chunk.severity,
        metadata=dict(chunk.metadata),
        at=datetime.fromtimestamp(chunk.at, UTC),
    )
