"""Many runs with twenty events each, written as plain SQL: days over a year, people, models."""

import json
import random
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import connection, transaction

from agents.audit import db_triggers
from agents.audit.event_codec import encode_chunk
from agents.core.chunks import (
    CallView,
    Check,
    Content,
    Decision,
    Done,
    Hint,
    OracleStreamChunk,
    SystemMessage,
    Thinking,
    ToolCalled,
    ToolResult,
    Turn,
)
from agents.core.config import AgentConfig
from agents.core.reasons import REASONS
from agents.models import AgentRun, Project, RunEvent, RunTool

EVENTS = 20
USERS, MODELS, TREES, PROJECTS = 60, 4, ("default", "quick"), 5
TOOLS = ("vault_search", "vault_read", "thread_list", "web_fetch", "search_code")
BATCH_SIZE = 2_000
CONFIG = AgentConfig().model_dump()


def generate(runs: int, *, running: int = 5, seed: int = 6) -> None:
    """Fill a migrated, empty database. Triggers that guard closed runs come back at the end."""
    chance = random.Random(seed)
    projects = [Project.objects.create(name=f"project {n}").pk for n in range(PROJECTS)]
    people = [User.objects.create(username=f"person{n:02}").pk for n in range(USERS)]
    with connection.cursor() as cursor:
        for statement in db_triggers.drop_statements(connection):
            cursor.execute(statement)
    begin = datetime.now(UTC) - timedelta(days=365)
    step = timedelta(days=365) / runs
    for first in range(0, runs, BATCH_SIZE):
        numbers = range(first, min(first + BATCH_SIZE, runs))
        made = [_build_run(chance, begin + n * step, people, projects) for n in numbers]
        for run in made[len(made) - running :] if first + BATCH_SIZE >= runs else ():
            run.update(outcome=None, reason="", ended_at=None, duration_ms=None)
        _write(made)
    db_triggers.install(connection)


def _build_run(chance: random.Random, at: datetime, people: Any, projects: Any) -> dict[str, Any]:
    often = ("completed",) * 20
    reason = REASONS.get(chance.choice((*often, *(code for code, _ in REASONS))))
    turns, tokens = chance.randint(1, 15), chance.randint(800, 52_000)
    took = chance.randint(900, 125_000)
    words = "Why was radar chosen, and by whom? " * chance.randint(1, 4)
    return {
        "id": uuid.UUID(int=chance.getrandbits(128), version=4).hex,
        "user_id": chance.choice(people),
        "project_id": chance.choice(projects).hex,
        "conversation_key": uuid.UUID(int=chance.getrandbits(128), version=4).hex,
        "question": words,
        "answer": words * 12,
        "tree": chance.choice(TREES),
        "model": f"model-{chance.randrange(MODELS)}",
        "outcome": reason.outcome.value,
        "reason": reason.code,
        "turns": turns,
        "tool_calls": chance.randint(0, 20),
        "tokens_in": tokens * 4 // 5,
        "tokens_out": tokens - tokens * 4 // 5,
        "tokens": tokens,
        "turns_percent": 100 * turns // 15,
        "tokens_percent": 100 * tokens // 50_000,
        "time_percent": took // 1_200,
        "started_at": at.replace(tzinfo=None),
        "day": at.date(),
        "ended_at": at.replace(tzinfo=None) + timedelta(milliseconds=took),
        "duration_ms": took,
    }


DEFAULT_COLUMNS: dict[str, Any] = {
    "context_runs": "[]", "explanation": "", "config": json.dumps(CONFIG), "also_triggered": "[]",
    "error": "", "wrapped_up": False, "usage_source": "provider", "cancel_note": "",
    "last_seq": EVENTS, "owner": "bench", "fence": 1, "first_link": "", "seal": "",
    "digests": "{}",
}  # fmt: skip


def _write(made: list[dict[str, Any]]) -> None:
    with transaction.atomic():
        _insert(AgentRun._meta.db_table, [{**DEFAULT_COLUMNS, **run} for run in made])
        _insert(RunEvent._meta.db_table, [event for run in made for event in _events(run)])
        _insert(RunTool._meta.db_table, [tool for run in made for tool in _tools(run)])


def _insert(table: str, rows: list[dict[str, Any]]) -> None:
    names = list(rows[0])
    values = ", ".join(["%s"] * len(names))
    with connection.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO {table} ({', '.join(names)}) VALUES ({values})",  # noqa: S608  # our own names
            [[row[name] for name in names] for row in rows],
        )


def _tools(run: dict[str, Any]) -> Iterator[dict[str, Any]]:
    number = int(run["id"][:4], 16)
    for at, name in enumerate(TOOLS):
        calls = number >> at & 3
        if calls:
            failed = int(number % 7 == at)
            yield {
                "run_id": run["id"], "name": name, "calls": calls, "failed": failed,
                "refused": 0, "total_ms": calls * (100 + 300 * at),
                "slowest_ms": 100 + number % 5_000,
            }  # fmt: skip


def _events(run: dict[str, Any]) -> Iterator[dict[str, Any]]:
    began: datetime = run["started_at"]
    for seq, (kind, data, content, sha256) in enumerate(_get_event_rows(run["reason"]), start=1):
        at = began + timedelta(milliseconds=(run["duration_ms"] or 20) * seq // EVENTS)
        yield {
            "run_id": run["id"], "seq": seq, "kind": kind, "data": data, "content": content,
            "sha256": sha256, "link": "", "at": at,
        }  # fmt: skip


_EVENT_ROWS_BY_REASON: dict[str, list[tuple[str, str, str, str]]] = {}


def _get_event_rows(reason: str) -> list[tuple[str, str, str, str]]:
    """The same twenty events for every run that ended so."""
    if reason not in _EVENT_ROWS_BY_REASON:
        rows = [encode_chunk(chunk) for chunk in _chunks(reason)]
        _EVENT_ROWS_BY_REASON[reason] = [
            (row.kind, row.data, row.content, row.sha256) for row in rows
        ]
        assert len(rows) == EVENTS
    return _EVENT_ROWS_BY_REASON[reason]


def _chunks(reason: str) -> Iterator[OracleStreamChunk]:
    check = Check("max_iterations", 1, 15, False)
    for turn in (1, 2, 3):
        yield Turn(number=turn, phase="start")
        yield Thinking(content="Where would that be written?")
        yield ToolCalled(
            tool_call=CallView(f"c{turn}", "vault_search", {"query": "radar"}, "running")
        )
        yield ToolResult(
            tool_call_id=f"c{turn}", tool_result="Two notes.", ok=True, duration_ms=120, order=0
        )  # fmt: skip
        yield Turn(number=turn, phase="end", prompt_tokens=900, completion_tokens=100, model_ms=800)
        yield Decision(
            checkpoint="after_turn", goes_on=turn < 3, reason="", tree="default", checks=(check,)
        )  # fmt: skip
    if reason == "completed" or not reason:
        yield Content(content="Because it was there first.")
    else:
        meta = {"limit_type": "iterations", "percent": 100}
        yield SystemMessage(
            system_type="limit_reached", system_message="At its limit.", severity="warning",
            metadata=meta,
        )  # fmt: skip
    if reason:
        outcome = REASONS.get(reason).outcome.value
        yield Done(
            termination_reason=reason, outcome=outcome, turns_used=3, tokens_used=3_000,
            usage_source="provider", model_used="model-0",
        )  # fmt: skip
    else:
        yield Hint(text="Nearly done.")
