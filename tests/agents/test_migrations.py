"""Databases of earlier versions: their runs are kept, and are as those of today."""

from pathlib import Path

import pytest

from tests.support.server import manage
from tests.support.template import copy_site

pytestmark = [pytest.mark.ci, pytest.mark.early]

EARLIER = """
call_command("migrate", "agents", "0002", verbosity=0)
call_command("migrate", "auth", verbosity=0)
import json
from datetime import UTC, datetime
from django.contrib.auth.models import User
from django.db import connection
from agents.core.chunks import Content, Done, Turn
from agents.core.config import AgentConfig
from agents.audit.event_codec import encode_chunk

user, project = User.objects.create_user("ada"), "0" * 31 + "2"
key, config = "0" * 31 + "1", json.dumps(AgentConfig().model_dump())
def put(cursor, table, row):
    places = ", ".join(["%s"] * len(row))
    cursor.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})", list(row.values()))
with connection.cursor() as cursor:
    row = dict(id=key, user_id=user.pk, project_id=project, context_runs="[]", question="?",
        answer="So.", explanation="", tree="default", model="m", config=config, error="",
        outcome="completed", reason="completed", also_triggered="[]", wrapped_up=0, turns=3,
        tool_calls=0, tokens_in=900, tokens_out=100, usage_source="provider", last_seq=2, owner="",
        fence=1, started_at="2026-01-02 03:04:05", ended_at="2026-01-02 03:04:17")
    put(cursor, "agents_project", dict(id=project, name="p", created_at="2026-01-01 00:00:00"))
    put(cursor, "agents_agentrun", row)
    done = Done(termination_reason="completed", outcome="completed", turns_used=3, tokens_used=1000,
        usage_source="provider", model_used="m", seq=2, at=1e9)
    for chunk in (Content(content="So.", seq=1, at=1e9), done):
        row = encode_chunk(chunk)
        put(cursor, "agents_runevent", dict(run_id=key, seq=row.seq, kind=row.kind, data=row.data,
            content=row.content, sha256=row.sha256, at=datetime.fromtimestamp(1e9, UTC)))
"""
AFTERWARDS = """
from agents.models import AgentRun
run = AgentRun.objects.get()
print(run.day, run.tokens, run.duration_ms, run.turns_percent, run.tokens_percent, run.time_percent)
"""
MIGRATE = 'call_command("migrate", verbosity=0)'
VERIFY = 'call_command("audit_verify")'


def execute(folder: Path, *scripts: str) -> str:
    """What scripts print, one after the other in one process: it takes a second to start."""
    text = "\n".join(["from django.core.management import call_command", *scripts])
    return manage(folder, "shell", "--verbosity", "0", "-c", text)


def test_runs_from_before_are_counted_and_signed(tmp_path: Path) -> None:
    execute(tmp_path, EARLIER)
    counted, *verified = execute(tmp_path, MIGRATE, AFTERWARDS, VERIFY).splitlines()
    assert counted.split() == ["2026-01-02", "1000", "12000", "20", "2", "10"]
    assert "1 runs checked: all intact." in "\n".join(verified)


DELEGATED = """
from dataclasses import replace
from django.contrib.auth.models import User
from django.db import connection
from agents.core.chunks import Content, Done, ToolResult
from agents.core.config import AgentConfig
from agents.core.run_record import RunRecord
from agents.audit import signing
from agents import ledger
from agents.models import AgentRun, Project
from agents.runtime.endings import final_values

user = User.objects.create_user("ada")
project = Project.objects.create(name="p", slug="p").pk
def result(call, ok):
    return ToolResult(tool_call_id=call, tool_result="x", ok=ok, duration_ms=1, order=0)
done = Done(termination_reason="completed", outcome="completed", turns_used=1, tokens_used=0,
    usage_source="provider", model_used="m")
said = [Content(content="Half", parent="a"), Content(content="Whole", parent="b"),
    result("a", False), result("b", True), Content(content="Mine")]
for chunks in ([*said, done], said):
    run = AgentRun(user=user, project_id=project, question="?", tree="default", model="m",
        config=AgentConfig().model_dump(), owner="elsewhere:1:x")
    signing.sign_start(run)
    run.save()
    record = RunRecord()
    numbered = [replace(chunk, seq=n, at=2e9) for n, chunk in enumerate(chunks, start=1)]
    for chunk in numbered:
        record.add(chunk)
    final = final_values(record) if record.done else None
    commit = ledger.Commit(ledger.Claim(run.pk, run.fence), numbered, final)
    ledger.write([commit])
call_command("migrate", "agents", "0003", verbosity=0)
with connection.cursor() as cursor:  # the triggers of then knew no such erasure
    cursor.execute("DROP TRIGGER agents_runevent_changed")
    cursor.execute("CREATE TRIGGER agents_runevent_changed BEFORE UPDATE ON agents_runevent "
        "BEGIN SELECT RAISE(ABORT, 'the audit keeps what was recorded'); END")
"""
WORDS = """
from agents.models import AgentRun, RunEvent
for run, outcome in AgentRun.objects.order_by("outcome").values_list("pk", "outcome"):
    words = RunEvent.objects.filter(run=run, kind="content").order_by("seq")
    print(outcome, ",".join(words.values_list("content", flat=True)))
"""


def test_what_subagents_did_not_finish_in_ended_runs_from_before_is_erased(tmp_path: Path) -> None:
    copy_site(tmp_path)
    before = execute(tmp_path, DELEGATED, WORDS)
    assert before.count("Half,Whole,Mine") == 2
    *words, verified = execute(tmp_path, MIGRATE, WORDS, VERIFY).splitlines()
    assert set(words) == {"None Half,Whole,Mine", "completed ,Whole,Mine"}
    assert "2 runs checked: all intact." in verified


LEFT_TWO = """
from django.contrib.auth.models import User
from agents.models import Departure, Project
user = User.objects.create_user("bo")
for name in ("a", "b"):
    Departure.objects.create(user=user, project=Project.objects.create(name=name, slug=name))
call_command("migrate", "agents", "0017", verbosity=0)
call_command("migrate", verbosity=0)
print(list(Departure.objects.values_list("user__username", "project")))
"""


def test_who_left_two_projects_has_left_once_for_the_version_before(tmp_path: Path) -> None:
    assert execute(copy_site(tmp_path / "site"), LEFT_TWO) == "[('bo', None)]\n"


ACTIVE_BEFORE = """
import os, socket
from django.contrib.auth.models import User
from django.db import connection
from agents.audit import signing
from agents.core.config import AgentConfig
from agents.models import AgentRun, Project
user = User.objects.create_user("bo")
project = Project.objects.create(name="p", slug="p").pk
owners = (f"{socket.gethostname()}:{2**31 - 1}:a", f"{socket.gethostname()}:{os.getpid()}:b",
    "elsewhere:7:c", "elsewhere:7:c", "")
for owner in owners:
    run = AgentRun(user=user, project_id=project, question="?", tree="default", model="m",
        config=AgentConfig().model_dump(), owner=owner)
    signing.sign_start(run)
    run.save()
call_command("migrate", "agents", "0018", verbosity=0)
with connection.cursor() as cursor:
    cursor.execute("UPDATE agents_agentrun SET lease_until = '2030-01-01 00:00:00'")
"""
SETTLED = """
from agents.ledger import HeldLease
from agents.models import AgentRun, ProcessLease
from agents.runtime import recovery
recovery.SECOND_LOOK_SECONDS = 0
lease = HeldLease()
sweeper = recovery.Sweeper(lease.id, lambda run_id: False)
def sweep():
    lease.renew()
    return sweeper.sweep()
print(ProcessLease.objects.count(), sweep(), sweep(), sweep())
ProcessLease.objects.exclude(pk=lease.id).update(renewed_at="2026-01-01 00:00:00+00:00")
print(sweep(), sweep(), sweep(), ProcessLease.objects.count())
print(*AgentRun.objects.order_by().values_list("outcome", "reason").distinct())
"""


def test_runs_that_were_active_before_processes_had_leases_are_ended(tmp_path: Path) -> None:
    """A process of this host that is gone loses them at once, others when they stay silent."""
    folder = copy_site(tmp_path / "site")
    said = execute(folder, ACTIVE_BEFORE, MIGRATE, SETTLED, VERIFY).splitlines()
    assert said[0] == "3 1 1 0"  # first of this host, then of nobody
    assert said[1] == "0 3 0 1"
    assert said[2] == "('failed', 'interrupted')"
    assert "5 runs checked: all intact." in "\n".join(said)
