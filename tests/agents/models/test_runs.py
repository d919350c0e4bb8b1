"""What the database itself holds about runs and their events."""

import uuid
from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, transaction

from agents.models import AgentRun, RunEvent
from tests.agents.models.factories import ada, engine, run_of

pytestmark = pytest.mark.django_db


def event(run: AgentRun, seq: int, kind: str = "content") -> RunEvent:
    now = datetime.now(UTC)
    return RunEvent.objects.create(run=run, seq=seq, kind=kind, sha256="0" * 64, at=now)


def test_a_conversation_has_one_active_run_at_a_time() -> None:
    user = ada()
    project, key = engine(user), uuid.uuid4()
    first = run_of(user, project, conversation_key=key)
    with pytest.raises(IntegrityError), transaction.atomic():
        run_of(user, project, conversation_key=key)
    AgentRun.objects.filter(pk=first.pk).update(outcome="completed", reason="completed")
    assert run_of(user, project, conversation_key=key).outcome is None


def test_runs_without_a_conversation_do_not_exclude_each_other() -> None:
    user = ada()
    project = engine(user)
    run_of(user, project)
    run_of(user, project)
    assert AgentRun.objects.filter(outcome__isnull=True).count() == 2


def test_a_message_that_is_sent_twice_is_one_run() -> None:
    user = ada()
    project = engine(user)
    run_of(user, project, client_message_id="m1")
    with pytest.raises(IntegrityError), transaction.atomic():
        run_of(user, project, client_message_id="m1")
    run_of(user, project, client_message_id="m2")


def test_an_event_has_its_own_number() -> None:
    user = ada()
    run = run_of(user, engine(user))
    event(run, 1)
    with pytest.raises(IntegrityError), transaction.atomic():
        event(run, 1)
    event(run, 2)


def test_a_run_ends_once() -> None:
    user = ada()
    run = run_of(user, engine(user))
    event(run, 1, "done")
    with pytest.raises(IntegrityError), transaction.atomic():
        event(run, 2, "done")
