"""A database from before the audit: its runs are kept, counted and signed."""

from pathlib import Path

from tests.support.server import manage

EARLIER = """
import json
from datetime import UTC, datetime
from django.contrib.auth.models import User
from django.db import connection
from agents.core.chunks import Content, Done, Turn
from agents.core.config import AgentConfig
from agents.models import Project
from agents.models.encoding import row_of

user, project = User.objects.create_user("ada"), Project.objects.create(name="p")
key, config = "0" * 31 + "1", json.dumps(AgentConfig().model_dump())
def put(cursor, table, row):
    places = ", ".join(["%s"] * len(row))
    cursor.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})", list(row.values()))
with connection.cursor() as cursor:
    row = dict(id=key, user_id=user.pk, project_id=project.pk.hex, context_runs="[]", question="?",
        answer="So.", explanation="", tree="default", model="m", config=config, error="",
        outcome="completed", reason="completed", also_triggered="[]", wrapped_up=0, turns=3,
        tool_calls=0, tokens_in=900, tokens_out=100, usage_source="provider", last_seq=2, owner="",
        fence=1, started_at="2026-01-02 03:04:05", ended_at="2026-01-02 03:04:17")
    put(cursor, "agents_agentrun", row)
    done = Done(termination_reason="completed", outcome="completed", turns_used=3, tokens_used=1000,
        usage_source="provider", model_used="m", seq=2, at=1e9)
    for chunk in (Content(content="So.", seq=1, at=1e9), done):
        row = row_of(chunk)
        put(cursor, "agents_runevent", dict(run_id=key, seq=row.seq, kind=row.kind, data=row.data,
            content=row.content, sha256=row.sha256, at=datetime.fromtimestamp(1e9, UTC)))
"""
AFTERWARDS = """
from agents.models import AgentRun
run = AgentRun.objects.get()
print(run.day, run.tokens, run.duration_ms, run.turns_percent, run.tokens_percent, run.time_percent)
"""


def test_runs_from_before_are_counted_and_signed(tmp_path: Path) -> None:
    manage(tmp_path, "migrate", "agents", "0002", "--verbosity", "0")
    manage(tmp_path, "migrate", "auth", "--verbosity", "0")
    manage(tmp_path, "shell", "--verbosity", "0", "-c", EARLIER)
    manage(tmp_path, "migrate", "--verbosity", "0")
    said = manage(tmp_path, "shell", "--verbosity", "0", "-c", AFTERWARDS)
    assert said.split() == ["2026-01-02", "1000", "12000", "20", "2", "10"]
    assert "1 runs checked: all intact." in manage(tmp_path, "audit_verify")
