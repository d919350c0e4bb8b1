"""An administrator stops somebody's run, and the person reads why."""

import uuid
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from agents.core.chunks import SystemMessage
from agents.models import AgentRun, AuditEntry
from tests.agents.admin.fixtures import (
    LIST,
    async_browser,
    auditor,
    browser,
    ended,
    going,
    made,
    owner,
    page_of,
    person,
)
from tests.agents.models.factories import process, run_of
from tests.support.script import say

pytestmark = pytest.mark.django_db(transaction=True)
WHY = "It reads the wrong project."


def admin() -> User:
    return auditor("root", "cancel_runs")


async def test_a_run_is_stopped_with_a_reason_that_its_person_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = await sync_to_async(admin)()
    client = await async_browser(root)
    async with going(monkeypatch) as (runtime, row):
        answer = await client.post(f"{LIST}{row.pk}/cancel/", {"reason": f"  {WHY} "}, secure=True)
        chunks = await ended(runtime, row.pk)
    assert answer.status_code == 302
    (told,) = [c for c in chunks if isinstance(c, SystemMessage) and c.system_type == "cancelled"]
    assert f"Stopped by an administrator: {WHY}" in told.system_message
    run = await AgentRun.objects.aget(pk=row.pk)
    assert (run.reason, run.cancel_note) == ("user_cancelled", WHY)
    entry = await AuditEntry.objects.exclude(verb="close").select_related("by", "run").aget()
    assert (entry.verb, entry.by, entry.run, entry.detail) == ("cancel", root, run, {})
    text = (await sync_to_async(page_of)(run, root)).text()
    assert f"Stopped by an administrator: {WHY}" in text
    assert "Stopped a run" in text


async def test_the_reason_is_kept_however_quickly_the_run_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = await async_browser(await sync_to_async(admin)())
    async with going(monkeypatch) as (runtime, row):
        work = runtime._database.run

        async def late(asked: Any) -> Any:
            await ended(runtime, row.pk)
            return await work(asked)

        monkeypatch.setattr(runtime._database, "run", late)
        await client.post(f"{LIST}{row.pk}/cancel/", {"reason": WHY}, secure=True)
        monkeypatch.setattr(runtime._database, "run", work)
    run = await AgentRun.objects.aget(pk=row.pk)
    assert (run.reason, run.cancel_note) == ("user_cancelled", WHY)
    assert run.cancel_requested_at is not None
    assert (
        "Record intact"
        in (await sync_to_async(page_of)(run, await sync_to_async(auditor)())).text()
    )


async def test_a_run_of_another_process_is_asked_by_its_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = await sync_to_async(admin)()
    client = await async_browser(root)
    async with going(monkeypatch) as (runtime, row):
        other = await sync_to_async(elsewhere)(row)
        await client.post(f"{LIST}{other.pk}/cancel/", {"reason": WHY}, secure=True)
        await other.arefresh_from_db()
        assert other.cancel_requested_at is not None
        assert (other.cancel_note, other.outcome) == (WHY, None)
        await runtime.cancel(row.pk)
        await ended(runtime, row.pk)


def elsewhere(row: AgentRun) -> AgentRun:
    """A run that another process drives."""
    assert row.user is not None
    return run_of(row.user, row.project, owner=process())


def test_a_process_that_is_no_home_to_runs_writes_the_row() -> None:
    run = active()
    browser(admin()).post(f"{LIST}{run.pk}/cancel/", {"reason": WHY})
    run.refresh_from_db()
    assert run.cancel_requested_at is not None
    assert run.cancel_note == WHY


def test_a_run_that_has_ended_is_left_alone_and_it_says_so() -> None:
    run = made(say("Yes."))
    client = browser(admin())
    answer = client.post(f"{LIST}{run.pk}/cancel/", {"reason": WHY}, follow=True)
    assert "had already ended" in answer.content.decode()
    run.refresh_from_db()
    assert (run.reason, run.cancel_note) == ("completed", "")
    assert not AuditEntry.objects.exclude(verb="close").exists()


@pytest.mark.parametrize("reason", ["", "   ", "\n\t", "x" * 201])
def test_a_reason_of_one_to_two_hundred_characters_is_needed(reason: str) -> None:
    run = active()
    answer = browser(admin()).post(f"{LIST}{run.pk}/cancel/", {"reason": reason})
    assert answer.status_code == 422
    assert "reason-problem" in answer.content.decode()
    run.refresh_from_db()
    assert run.cancel_requested_at is None
    assert not AuditEntry.objects.exclude(verb="close").exists()


def active() -> AgentRun:
    return run_of(*owner(), owner=process())


def test_markup_in_a_refused_reason_comes_back_as_text() -> None:
    answer = browser(admin()).post(
        f"{LIST}{active().pk}/cancel/", {"reason": "<script>alert(1)</script>" + "x" * 200}
    )
    assert "<script>alert" not in answer.content.decode()


@pytest.mark.parametrize("kind", ["user", "staff", "auditor"])
def test_nobody_else_can_stop_a_run(kind: str) -> None:
    run = active()
    user = auditor() if kind == "auditor" else person(kind, is_staff=kind == "staff")
    assert browser(user).post(f"{LIST}{run.pk}/cancel/", {"reason": WHY}).status_code in (302, 403)
    run.refresh_from_db()
    assert run.cancel_requested_at is None
    assert not AuditEntry.objects.exclude(verb="close").exists()


def test_the_form_is_there_for_those_who_may_and_while_it_can_do_something() -> None:
    running, over = active(), made(say("Yes."))
    root = admin()
    assert "Stop the run" in page_of(running, root).text()
    assert "Stop the run" not in page_of(over, root).text()
    assert "Stop the run" not in page_of(running, auditor()).text()


def test_looking_is_not_stopping_and_what_is_not_there_is_not_found() -> None:
    run = active()
    client = browser(admin())
    assert client.get(f"{LIST}{run.pk}/cancel/").status_code == 405
    assert client.post(f"{LIST}{uuid.uuid4()}/cancel/", {"reason": WHY}).status_code == 404
