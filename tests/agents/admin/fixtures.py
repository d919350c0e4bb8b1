"""Runs made by the real runtime, and people who look at them in the admin."""

import asyncio
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib import import_module
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.apps import apps
from django.contrib.auth.models import Group, Permission, User
from django.db import connection
from django.test import AsyncClient, Client

from agents.core.chunks import OracleStreamChunk, ToolCalled
from agents.core.config import AgentConfig
from agents.models import AgentRun, Membership, Project
from agents.runtime import RunRequest, Runtime
from agents.runtime import current as home_module
from tests.agents.runtime.fake_factory import ScriptedRunFactory, followed
from tests.support.history_rewriting import rewritable
from tests.support.pages import Page
from tests.support.script import call
from tests.support.scripted_model import ModelStep, ScriptedModel
from tests.support.timing import PATIENCE
from tests.support.tools import FakeTools, hangs, raises

HTTPS = {"x-forwarded-proto": "https"}
LIST = "/admin/agents/agentrun/"
SECRET = "the harbour master's secret"
"""What nobody without the permission may read."""


def tools() -> FakeTools:
    return FakeTools({"look": look, "wait": hangs(), "break": raises(RuntimeError(SECRET))})


def look(page: Any = "", **_: Any) -> str:
    """Another page has something else, so that a run that turns pages makes progress."""
    return f"found {SECRET} {page}".strip()


def person(name: str, *permissions: str, group: str = "", **more: Any) -> User:
    """Somebody, with their permissions: `agents.` is left out."""
    user = User.objects.create_user(name, **more)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    if group:
        user.groups.add(auditors(group))
    return user


def auditors(group: str) -> Group:
    """A group that a migration makes, again: other tests empty all tables."""
    import_module("agents.migrations.0003_audit").make_groups(apps, None)
    return Group.objects.get(name=group)


def auditor(name: str = "otto", *permissions: str) -> User:
    """Staff who may see runs, without what was said."""
    return person(name, "view_agentrun", *permissions, is_staff=True)


def owner() -> tuple[User, Project]:
    user, made = User.objects.get_or_create(username="ada")
    if made:
        project = Project.objects.create(name="engine")
        Membership.objects.create(project=project, user=user, role=Membership.Role.OWNER)
    return user, Project.objects.get(name="engine")


def request(**more: Any) -> RunRequest:
    user, project = owner()
    limits = {name: more.pop(name) for name in list(more) if name in AgentConfig.model_fields}
    usual: dict[str, Any] = {"question": f"What is {SECRET}?", "config": AgentConfig(**limits)}
    return RunRequest(user=user, project=project, **{**usual, **more})


def made(*steps: ModelStep, then: ModelStep | None = None, **more: Any) -> AgentRun:
    """A run that has ended, by the real runtime."""

    async def make() -> UUID:
        asked = await sync_to_async(request)(**more)
        async with Runtime(ScriptedRunFactory(ScriptedModel(steps, then=then), tools())) as runtime:
            row = await runtime.start(asked)
            async with asyncio.timeout(PATIENCE):
                await followed(runtime, row.pk)
        return row.pk

    return AgentRun.objects.get(pk=async_to_sync(make)())


@asynccontextmanager
async def going(monkeypatch: pytest.MonkeyPatch, *steps: ModelStep, **more: Any) -> Any:
    """A run that goes on in this process's runtime, which is home to it."""
    asked = await sync_to_async(request)(**more)
    model = ScriptedModel(steps or [call("wait")])
    async with Runtime(ScriptedRunFactory(model, tools())) as runtime:
        monkeypatch.setattr(home_module, "_runtimes", [runtime])
        row = await runtime.start(asked)
        if not steps:
            await until_a_tool_runs(runtime, row.pk)
        yield runtime, row


async def until_a_tool_runs(runtime: Runtime, run_id: UUID) -> None:
    async for chunk in runtime.follow(run_id):
        if isinstance(chunk, ToolCalled) and chunk.tool_call.status == "running":
            return


async def ended(runtime: Runtime, run_id: UUID) -> list[OracleStreamChunk]:
    async with asyncio.timeout(PATIENCE):
        return await followed(runtime, run_id)


def browser(user: User) -> Client:
    client = Client(headers=HTTPS)
    client.force_login(user)
    return client


async def async_browser(user: User) -> AsyncClient:
    client = AsyncClient()  # asked with `secure=True`
    await sync_to_async(client.force_login)(user)
    return client


def page_of(run: AgentRun | UUID | str, user: User, query: str = "", status: int = 200) -> Page:
    """A run's page, read."""
    key = run.pk if isinstance(run, AgentRun) else run
    answer = browser(user).get(f"{LIST}{key}/change/{query}")
    assert answer.status_code == status, answer.content[:500]
    return Page(answer.content.decode())


@contextmanager
def tampering() -> Iterator[Any]:
    """A cursor for which nothing is immutable, and on SQLite nothing has to be valid."""
    with rewritable(), connection.cursor() as cursor:
        _check(cursor, "OFF")
        try:
            yield cursor
        finally:
            _check(cursor, "ON")


def _check(cursor: Any, state: str) -> None:
    if connection.vendor == "sqlite":
        cursor.execute(f"PRAGMA ignore_check_constraints = {'ON' if state == 'OFF' else 'OFF'}")
