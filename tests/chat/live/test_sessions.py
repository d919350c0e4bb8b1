"""Whoever has a page open is shown out when they may no longer be there."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import OperationalError
from django.utils import timezone

from agents.models import Membership, Project
from agents.projects.services import delete_project
from agents.web.throttling import TokenBucket
from chat.live import sessions
from chat.live.sessions import OpenSocket
from tests.chat.factories import member
from tests.chat.sockets import signed_in, site
from tests.support.timing import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)


class Visit:
    """Somebody who is here, and whether they were shown out."""

    def __init__(self, user: User, project: Project, session: str) -> None:
        self.user, self.project, self.session = user, project, session
        self.out = asyncio.Event()
        self.fails = False
        self.guest = OpenSocket(
            user.pk, user.password, session, project.pk, self.show_out, self.show_out
        )

    async def show_out(self) -> None:
        self.out.set()
        if self.fails:
            raise ConnectionError("gone meanwhile")
        sessions._sockets.discard(self.guest)


async def visit(name: str) -> Visit:
    user, project = await sync_to_async(member)(name)
    return Visit(user, project, await signed_in(user))


@pytest.fixture(autouse=True)
async def here(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ExitStack]:
    monkeypatch.setattr(sessions, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(sessions, "_sockets", set())
    monkeypatch.setattr(sessions, "_poll_task", None)
    async with site():
        with ExitStack() as stack:
            yield stack
        if sessions._poll_task is not None:
            sessions._poll_task.cancel()
            await asyncio.wait([sessions._poll_task])


async def gone(one: Visit) -> bool:
    async with asyncio.timeout(PATIENCE):
        await one.out.wait()
    return True


def expire(one: Visit) -> None:
    past = timezone.now() - timedelta(seconds=1)
    Session.objects.filter(session_key=one.session).update(expire_date=past)


CHANGES: dict[str, Callable[[Visit], Any]] = {
    "signed out": lambda one: Session.objects.filter(session_key=one.session).delete(),
    "expired": expire,
    "deactivated": lambda one: User.objects.filter(pk=one.user.pk).update(is_active=False),
    "a new password": lambda one: User.objects.filter(pk=one.user.pk).update(password="x"),
    "deleted": lambda one: User.objects.filter(pk=one.user.pk).delete(),
    "removed": lambda one: Membership.objects.filter(user=one.user).delete(),
    "project deleted": lambda one: delete_project(one.project, by=None),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_whoever_may_not_stay_is_shown_out_and_others_are_not(
    here: ExitStack, change: str
) -> None:
    ada, bob = await visit("guest"), await visit("bob")
    for one in (ada, bob):
        here.enter_context(sessions.track(one.guest))
    await sync_to_async(CHANGES[change])(ada)
    assert await gone(ada)
    assert not bob.out.is_set()


async def test_whoever_left_is_not_looked_after_any_more(here: ExitStack) -> None:
    ada = await visit("guest")
    with sessions.track(ada.guest):
        pass
    assert sessions._sockets == set()


async def test_the_watch_ends_with_the_last_guest_and_begins_with_the_next(
    here: ExitStack,
) -> None:
    ada = await visit("guest")
    with sessions.track(ada.guest):
        first = sessions._poll_task
    assert first is not None
    await asyncio.wait([first], timeout=PATIENCE)
    assert first.done()
    here.enter_context(sessions.track(ada.guest))
    await sync_to_async(CHANGES["signed out"])(ada)
    assert await gone(ada)


async def test_a_database_that_is_away_shows_nobody_out(
    here: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = await visit("guest")
    real = sessions._filter_authorised
    failures: list[int] = []

    def welcome(present: list[OpenSocket]) -> set[OpenSocket]:
        if len(failures) < 3:
            failures.append(1)
            raise OperationalError("database is locked")
        return real(present)

    monkeypatch.setattr(sessions, "_filter_authorised", welcome)
    here.enter_context(sessions.track(ada.guest))
    await sync_to_async(CHANGES["signed out"])(ada)
    assert await gone(ada)
    assert len(failures) == 3


async def test_one_who_cannot_be_told_does_not_keep_others_in(here: ExitStack) -> None:
    visits = [await visit(name) for name in ("guest", "bob", "cy")]
    for one in visits:
        one.fails = True
        here.enter_context(sessions.track(one.guest))
    await sync_to_async(Session.objects.all().delete)()
    watch = sessions._poll_task
    assert watch is not None
    assert all([await gone(one) for one in visits])
    await asyncio.wait([watch], timeout=0.05)
    assert watch.done() is False or watch.exception() is None


# -- how often ------------------------------------------------------------------------------------


def test_so_many_at_once_then_so_many_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("agents.web.throttling.time.monotonic", lambda: now[0])
    bucket = TokenBucket(3, 2.0)
    assert [bucket.try_acquire() for _ in range(4)] == [True, True, True, False]
    now[0] += 0.5
    assert [bucket.try_acquire() for _ in range(2)] == [True, False]
    now[0] += 1_000
    assert [bucket.try_acquire() for _ in range(4)] == [True, True, True, False]
