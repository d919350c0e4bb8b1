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
from agents.runtime.current import get_runtime

logger = logging.getLogger(__name__)

POLL_SECONDS = 3.0
MAX_SOCKETS_PER_USER = 50
"""That one person may have open in one process."""


@dataclass(frozen=True, eq=False)
class OpenSocket:
    """One open socket."""

    user_id: int
    password: str
    """As it is stored, to notice that it was changed."""
    session_key: str
    sign_out: Callable[[], Awaitable[None]]


_sockets: set[OpenSocket] = set()
_poll_task: asyncio.Task[None] | None = None


def count_for_user(user_id: int) -> int:
    """How many pages somebody has open here."""
    return sum(guest.user_id == user_id for guest in _sockets)


@contextmanager
def track(socket: OpenSocket) -> Iterator[None]:
    """Track an open socket while it is connected."""
    global _poll_task
    _sockets.add(socket)
    if _poll_task is None or _poll_task.done():
        _poll_task = spawn(_poll_sockets(), "guests")
    try:
        yield
    finally:
        _sockets.discard(socket)


async def _poll_sockets() -> None:
    while _sockets:
        await asyncio.sleep(POLL_SECONDS)
        present = list(_sockets)
        try:
            welcome = await get_runtime().run_db(partial(_filter_authorised, present))
        except Error:
            logger.warning("guests cannot be looked at now; looking again")
            continue
        for guest in present:
            if guest not in welcome and guest in _sockets:
                await _sign_out(guest)


async def _sign_out(socket: OpenSocket) -> None:
    try:
        await socket.sign_out()
    except Exception:  # they have gone by themselves, or cannot be told; others must be
        logger.info("a guest could not be shown out")
        _sockets.discard(socket)


def _filter_authorised(sockets: list[OpenSocket]) -> set[OpenSocket]:
    """Those whose session and account are as they were."""
    keys = {guest.session_key for guest in sockets}
    alive = Session.objects.filter(session_key__in=keys, expire_date__gt=timezone.now())
    sessions = set(alive.values_list("session_key", flat=True))
    active = User.objects.filter(pk__in={guest.user_id for guest in sockets}, is_active=True)
    passwords = dict(active.values_list("pk", "password"))
    return {
        guest
        for guest in sockets
        if guest.session_key in sessions and passwords.get(guest.user_id) == guest.password
    }
