"""Closed rows cannot be changed below the admin either; erasing is the one exception."""

from typing import Any

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.db.models.signals import post_migrate

from agents import ledger
from agents.audit import db_triggers
from agents.audit.erasure import content_erased, erase, erase_unfinished
from agents.audit.log import log_action, log_actions
from agents.audit.verify import verify_entries, verify_run
from agents.core.chunks import Content
from agents.core.config import AgentConfig
from agents.models import AgentRun, AuditEntry, RunEvent, RunTool
from tests.agents.audit.test_verify import recorded
from tests.agents.models.factories import ada, engine, run_of

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
    log_action("transcript", by=run.user, run=run)
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
    log_actions("erase", [run.pk], by=None, why="asked for")
    RunEvent.objects.filter(run=run).update(content="")
    refused(RunEvent.objects.filter(run=run).update, content="something else")
    assert set(RunEvent.objects.filter(run=run).values_list("content", flat=True)) == {""}


def test_erasing_takes_what_was_said_and_leaves_a_record_that_can_be_verified() -> None:
    run = recorded("The word is rhubarb.")
    heard: list[Any] = []
    content_erased.connect(lambda runs, **_: heard.extend(runs), weak=False, dispatch_uid="test")
    try:
        assert erase([run.pk], why="retention", by=run.user) == 1
        assert erase([run.pk], why="retention") == 0
    finally:
        content_erased.disconnect(dispatch_uid="test")
    row = AgentRun.objects.get(pk=run.pk)
    assert heard == [run.pk]
    assert row.is_erased
    assert (row.question, row.answer, row.reason, row.turns) == ("", "", run.reason, run.turns)
    stored = [str(values) for values in RunEvent.objects.filter(run=run).values_list()]
    assert not any("rhubarb" in values for values in stored)
    assert verify_run(row) is None
    entry = AuditEntry.objects.get(run=run, verb="erase")
    assert (entry.verb, entry.by, entry.detail) == ("erase", run.user, {"why": "retention"})


SUBAGENTS = ("c1", "c2")


def delegated() -> AgentRun:
    """A run that goes on, with the words of two subagents and its own."""
    user = ada()
    run = run_of(user, engine(user), config=AgentConfig().model_dump())
    said = [Content(content="Mine", seq=1, at=1e9)]
    said += [
        Content(content=f"Of {c}", parent=c, seq=n, at=1e9) for n, c in enumerate(SUBAGENTS, 2)
    ]
    ledger.write([ledger.Commit(ledger.Claim(run.pk, run.fence), said)])
    return run


def words_of(run: AgentRun) -> dict[str, str]:
    events = RunEvent.objects.filter(run=run)
    return {event.data.get("parent", ""): event.content for event in events}


def test_an_entry_about_a_subagent_unlocks_its_words_and_no_others() -> None:
    run, own = delegated(), RunEvent.objects.filter
    other = run_of(run.user, run.project)  # type: ignore[arg-type]
    log_action("erase_unfinished", by=None, run=other, call="c1")
    refused(own(run=run, data__parent="c1").update, content="")
    log_action("erase_unfinished", by=None, run=run, call="c1")
    refused(own(run=run).update, content="")
    refused(own(run=run, data__parent="c2").update, content="")
    refused(own(run=run, seq=1).update, content="")
    changes: list[dict[str, Any]] = [
        {"content": "x"},
        {"kind": "hint"},
        {"data": {}},
        {"sha256": ""},
        {"link": ""},
    ]
    for values in changes:
        refused(own(run=run, data__parent="c1").update, **values)
    refused(own(run=run, data__parent="c1")._raw_delete, "default")
    assert words_of(run) == {"": "Mine", "c1": "Of c1", "c2": "Of c2"}
    own(run=run, data__parent="c1").update(content="")
    assert words_of(run) == {"": "Mine", "c1": "", "c2": "Of c2"}


@pytest.mark.parametrize("detail", [{}, {"call": ""}, {"call": None}, {"call": ["c1"]}], ids=str)
def test_an_entry_that_names_no_subagent_unlocks_nothing(detail: dict[str, Any]) -> None:
    run = delegated()
    log_action("erase_unfinished", by=None, run=run, **detail)
    for event in RunEvent.objects.filter(run=run):
        refused(RunEvent.objects.filter(pk=event.pk).update, content="")


def test_the_words_of_a_subagent_are_erased_while_the_run_goes_on_and_once() -> None:
    run = delegated()
    digests = list(RunEvent.objects.filter(run=run).values_list("sha256", "link"))
    assert erase_unfinished(run.pk, ["c1", "nobody"]) == 1
    assert erase_unfinished(run.pk, ["c1"]) == 0
    assert words_of(run) == {"": "Mine", "c1": "", "c2": "Of c2"}
    assert list(RunEvent.objects.filter(run=run).values_list("sha256", "link")) == digests
    entry = AuditEntry.objects.get(run=run)
    assert (entry.verb, entry.by, entry.detail) == ("erase_unfinished", None, {"call": "c1"})
    row = AgentRun.objects.get(pk=run.pk)
    assert not row.is_erased
    assert verify_run(row) is None
    assert verify_entries() is None


def test_a_deleted_person_leaves_an_anonymous_record() -> None:
    run = recorded()
    log_action("transcript", by=run.user, run=run)
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
        for statement in db_triggers.drop_statements(connection):
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
