"""Runs as the audit finds them, written without being run: for what is counted and listed."""

import re
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.utils import timezone

from agents.core.config import AgentConfig
from agents.core.reasons import REASONS
from agents.models import AgentRun, Project, RunTool
from tests.support.history_rewriting import rewritable
from tests.support.pages import Page

LIST = "/admin/agents/agentrun/"
Owner = tuple[User, Project]


def ended(
    user: User | None,
    project: Project,
    reason: str = "completed",
    *,
    at: datetime | None = None,
    **more: Any,
) -> AgentRun:
    """A run that has ended, not yet saved."""
    began = at or timezone.now() - timedelta(minutes=1)
    usual: dict[str, Any] = {
        "question": "a secret question", "answer": "a secret answer", "tree": "default",
        "model": "offline", "config": AgentConfig().model_dump(), "turns": 3, "tool_calls": 2,
        "tokens_in": 900, "tokens_out": 100, "tokens": 1_000, "turns_percent": 20,
        "tokens_percent": 2, "time_percent": 10, "duration_ms": 12_000,
        "conversation_key": uuid.uuid4(),
    }  # fmt: skip
    outcome = REASONS.get(reason).outcome.value if reason in REASONS else "limited"
    moments = {
        "started_at": began,
        "day": began.astimezone(UTC).date(),
        "ended_at": began + timedelta(seconds=12),
    }
    values = {**usual, **moments, "outcome": outcome, "reason": reason, **more}
    return AgentRun(user=user, project=project, **values)


def running(user: User, project: Project, **more: Any) -> AgentRun:
    nothing: dict[str, Any] = dict.fromkeys(
        ("outcome", "ended_at", "duration_ms", "turns_percent", "tokens_percent", "time_percent")
    )
    return ended(user, project, **{**nothing, "reason": "", "tokens": 0, **more})


def saved(*runs: AgentRun) -> list[AgentRun]:
    return AgentRun.objects.bulk_create(runs)


def used(run: AgentRun, name: str, **more: int) -> None:
    """What a run used of a tool, counted after it was closed: the triggers would refuse it."""
    usual = {"calls": 4, "failed": 0, "refused": 0, "total_ms": 400, "slowest_ms": 200}
    with rewritable():
        RunTool.objects.create(run=run, name=name, **{**usual, **more})


def tampered(statements: Iterable[str]) -> None:
    """What somebody does who can write to the database and takes the triggers away."""
    with rewritable(), connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


# -- the page -------------------------------------------------------------------------------------


def seen(user: User, query: str = "", status: int = 200) -> Page:
    client = Client()
    client.force_login(user)
    answer = client.get(LIST + query, secure=True)
    assert answer.status_code == status, answer.headers
    return Page(answer.content.decode())


def lines(page: Page) -> list[str]:
    """Ids of the runs that are listed."""
    found = (re.fullmatch(rf"{LIST}([0-9a-f-]{{36}})/change/.*", at["href"])
             for at in page.all("a") if "href" in at)  # fmt: skip
    return [match[1] for match in found if match]


def ids(*runs: AgentRun) -> list[str]:
    return [str(run.pk) for run in runs]
