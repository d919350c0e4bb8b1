"""Closed rows cannot be changed below the admin either; erasing is the one exception."""

from typing import Any

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.db.models.signals import post_migrate

from agents.audit.verify import verify_entries, verify_run
from agents.models import AgentRun, AuditEntry, RunEvent, RunTool, triggers
from agents.models.audit import record, record_each
from agents.models.erasing import erase, erased
from tests.agents.audit.test_verify import recorded

pytestmark = pytest.mark.django_db(transaction=True)


def refused(change: Any, *args: Any, **values: Any) -> None:
    with pytest.raises(IntegrityError, match="the audit keeps"), transaction.atomic():
        change(*args, **values)


@pytest.mark.parametrize(
    "values",
    [
        {"reason": "timeout"},
        {"outcome": None},
        {"turns": 9},
        {"answer": "Another."},
        {"answer": ""},
        {"user": None},
        {"seal": ""},
        {"cancel_requested_at": "2026-01-01T00:00Z"},
    ],
    ids=str,
)
def test_a_closed_run_cannot_be_changed(values: dict[str, Any]) -> None:
    run = recorded()
    refused(AgentRun.objects.filter(pk=run.pk).update, **values)
    assert verify_run(AgentRun.objects.get(pk=run.pk)) is None


def test_nothing_that_was_recorded_can_be_deleted_changed_or_added_to() -> None:
    run = recorded()
    record("transcript", by=run.user, run=run)
    event = RunEvent.objects.filter(run=run).exclude(content="").first()
    assert event is not None
    refused(AgentRun.objects.filter(pk=run.pk)._raw_delete, "default")
    for rows in (RunEvent.objects, RunTool.objects, AuditEntry.objects):
        refused(rows.all()._raw_delete, "default")
    refused(RunEvent.objects.filter(pk=event.pk).update, content="")
    refused(RunEvent.objects.filter(pk=event.pk).update, data={})
    refused(RunTool.objects.filter(run=run).update, failed=9)
    refused(AuditEntry.objects.update, verb="export")
    refused(RunEvent(run=run, seq=999, kind="content", at=event.at).save)
    refused(RunTool.objects.create, run=run, name="x", **dict.fromkeys(COUNTS, 1))


COUNTS = ("calls", "failed", "refused", "total_ms", "slowest_ms")


def test_an_open_run_can_go_on_but_its_events_stay() -> None:
    run = recorded()
    open_run = AgentRun.objects.create(
        user=run.user, project=run.project, question="?", tree="default", model="m", config={}
    )
    event = RunEvent.objects.create(
        run=open_run, seq=1, kind="content", content="x", at=run.started_at
    )
    AgentRun.objects.filter(pk=open_run.pk).update(last_seq=1)
    refused(RunEvent.objects.filter(pk=event.pk).update, content="y")
    assert AgentRun.objects.get(pk=open_run.pk).last_seq == 1
    assert RunEvent.objects.get(pk=event.pk).content == "x"


def test_an_erasure_needs_its_record() -> None:
    run = recorded()
    refused(RunEvent.objects.filter(run=run).update, content="")
    record_each("erase", [run.pk], by=None, why="asked for")
    RunEvent.objects.filter(run=run).update(content="")
    refused(RunEvent.objects.filter(run=run).update, content="something else")
    assert set(RunEvent.objects.filter(run=run).values_list("content", flat=True)) == {""}


def test_erasing_takes_what_was_said_and_leaves_a_record_that_can_be_verified() -> None:
    run = recorded("The word is rhubarb.")
    heard: list[Any] = []
    erased.connect(lambda runs, **_: heard.extend(runs), weak=False, dispatch_uid="test")
    try:
        assert erase([run.pk], why="retention", by=run.user) == 1
        assert erase([run.pk], why="retention") == 0
    finally:
        erased.disconnect(dispatch_uid="test")
    row = AgentRun.objects.get(pk=run.pk)
    assert heard == [run.pk]
    assert row.is_erased
    assert (row.question, row.answer, row.reason, row.turns) == ("", "", run.reason, run.turns)
    stored = [str(values) for values in RunEvent.objects.filter(run=run).values_list()]
    assert not any("rhubarb" in values for values in stored)
    assert verify_run(row) is None
    entry = AuditEntry.objects.get(run=run, verb="erase")
    assert (entry.verb, entry.by, entry.detail) == ("erase", run.user, {"why": "retention"})


def test_a_deleted_person_leaves_an_anonymous_record() -> None:
    run = recorded()
    record("transcript", by=run.user, run=run)
    assert run.user is not None
    run.user.delete()
    row = AgentRun.objects.get(pk=run.pk)
    assert row.user is None
    assert row.is_erased
    assert verify_run(row) is None
    assert verify_entries() is None
    assert set(AuditEntry.objects.values_list("by", flat=True)) == {None}


def test_triggers_are_there_again_after_every_migration() -> None:
    run = recorded()
    with connection.cursor() as cursor:
        for statement in triggers.removing(connection):
            cursor.execute(statement)
    post_migrate.send(
        sender=apps.get_app_config("agents"),
        app_config=apps.get_app_config("agents"),
        verbosity=0,
        interactive=False,
        using="default",
    )
    refused(AgentRun.objects.filter(pk=run.pk).update, turns=9)
    assert AgentRun.objects.get(pk=run.pk).turns == run.turns


@pytest.mark.skipif(connection.vendor != "sqlite", reason="there is no such statement elsewhere")
@pytest.mark.parametrize("table", ["agents_agentrun", "agents_auditentry", "agents_runevent"])
def test_a_row_cannot_be_replaced(table: str) -> None:
    run = recorded()

    def replace() -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}")  # noqa: S608  # ours

    refused(replace)
    assert verify_run(run) is None


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no such statement")
@pytest.mark.parametrize("table", ["agents_auditentry", "agents_runtool", "agents_runevent"])
def test_a_table_cannot_be_emptied(table: str) -> None:
    run = recorded()

    def empty() -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"TRUNCATE {table} CASCADE")

    refused(empty)
    assert verify_run(run) is None
