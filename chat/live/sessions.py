"""Who has a page open in this process, and whether they still may.

Signing out, an expired session, a new password, a deactivated account and the end of a membership
all end sockets that were opened before: every few seconds three queries look at everybody who is
here, and at once when a project says that somebody's rights have changed.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import Error
from django.utils import timezone

from agents.core.tasks import spawn
from agents.projects.queries import filter_members
from agents.runtime import get_runtime

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
    project_id: UUID
    sign_out: Callable[[], Awaitable[None]]
    """Called when the session or the account has ended."""
    turn_away: Callable[[], Awaitable[None]]
    """Called when they are no longer in the project."""


_sockets: set[OpenSocket] = set()
_poll_task: asyncio.Task[None] | None = None
_poll_wanted = asyncio.Event()


def count_for_user(user_id: int) -> int:
    """Return how many pages somebody has open here."""
    return sum(socket.user_id == user_id for socket in _sockets)


@contextmanager
def track(socket: OpenSocket) -> Iterator[None]:
    """Track an open socket while it is connected."""
    global _poll_task, _poll_wanted
    _sockets.add(socket)
    if _poll_task is None or _poll_task.done():
        _poll_wanted = asyncio.Event()
        _poll_task = spawn(_poll_sockets(_poll_wanted), "open sockets")
    try:
        with get_runtime().watch(socket.project_id, _poll_wanted.set):
            yield
    finally:
        _sockets.discard(socket)


async def _poll_sockets(wanted: asyncio.Event) -> None:
    while _sockets:
        with suppress(TimeoutError):
            async with asyncio.timeout(POLL_SECONDS):
                await wanted.wait()
        wanted.clear()
        present = list(_sockets)
        try:
            endings = await get_runtime().run_db(partial(_find_endings, present))
        except Error:
            logger.warning("open sockets cannot be checked; trying again")
            continue
        for socket, end in endings:
            if socket in _sockets:
                await _end(socket, end)


async def _end(socket: OpenSocket, end: Callable[[], Awaitable[None]]) -> None:
    try:
        await end()
    except Exception:  # they have gone by themselves, or cannot be told; others must be
        logger.info("an open socket could not be closed")
        _sockets.discard(socket)


def _find_endings(
    sockets: list[OpenSocket],
) -> list[tuple[OpenSocket, Callable[[], Awaitable[None]]]]:
    """Return those who may not stay, each with how to tell them."""
    authorised = _filter_authorised(sockets)
    places = filter_members({(socket.user_id, socket.project_id) for socket in authorised})
    endings = [(socket, socket.sign_out) for socket in sockets if socket not in authorised]
    for socket in authorised:
        if (socket.user_id, socket.project_id) not in places:
            endings.append((socket, socket.turn_away))
    return endings


def _filter_authorised(sockets: list[OpenSocket]) -> set[OpenSocket]:
    """Return those whose session and account are as they were."""
    keys = {socket.session_key for socket in sockets}
    alive = Session.objects.filter(session_key__in=keys, expire_date__gt=timezone.now())
    sessions = set(alive.values_list("session_key", flat=True))
    active = User.objects.filter(pk__in={socket.user_id for socket in sockets}, is_active=True)
    passwords = dict(active.values_list("pk", "password"))
    return {
        socket
        for socket in sockets
        if socket.session_key in sessions and passwords.get(socket.user_id) == socket.password
    }
