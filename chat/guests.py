"""Who has a page open in this process, and whether they still may.

Signing out, an expired session, a new password and a deactivated account all end sockets that were
opened before: every few seconds two queries look at everybody who is here.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import Error
from django.utils import timezone

from agents.core.tasks import spawn
from agents.runtime.home import home

log = logging.getLogger(__name__)

LOOK_SECONDS = 3.0
MOST_PAGES = 50
"""That one person may have open in one process."""


@dataclass(frozen=True, eq=False)
class Guest:
    """One open socket."""

    user_id: int
    password: str
    """As it is stored, to notice that it was changed."""
    session_key: str
    show_out: Callable[[], Awaitable[None]]


_guests: set[Guest] = set()
_watch: asyncio.Task[None] | None = None


def pages_of(user_id: int) -> int:
    """How many pages somebody has open here."""
    return sum(guest.user_id == user_id for guest in _guests)


@contextmanager
def here(guest: Guest) -> Iterator[None]:
    """Look after a guest for as long as they stay."""
    global _watch
    _guests.add(guest)
    if _watch is None or _watch.done():
        _watch = spawn(_look_now_and_then(), "guests")
    try:
        yield
    finally:
        _guests.discard(guest)


async def _look_now_and_then() -> None:
    while _guests:
        await asyncio.sleep(LOOK_SECONDS)
        present = list(_guests)
        try:
            welcome = await home().work(partial(_welcome, present))
        except Error:
            log.warning("guests cannot be looked at now; looking again")
            continue
        for guest in present:
            if guest not in welcome and guest in _guests:
                await _show_out(guest)


async def _show_out(guest: Guest) -> None:
    try:
        await guest.show_out()
    except Exception:  # they have gone by themselves, or cannot be told; others must be
        log.info("a guest could not be shown out")
        _guests.discard(guest)


def _welcome(guests: list[Guest]) -> set[Guest]:
    """Those whose session and account are as they were."""
    keys = {guest.session_key for guest in guests}
    alive = Session.objects.filter(session_key__in=keys, expire_date__gt=timezone.now())
    sessions = set(alive.values_list("session_key", flat=True))
    active = User.objects.filter(pk__in={guest.user_id for guest in guests}, is_active=True)
    passwords = dict(active.values_list("pk", "password"))
    return {
        guest
        for guest in guests
        if guest.session_key in sessions and passwords.get(guest.user_id) == guest.password
    }
