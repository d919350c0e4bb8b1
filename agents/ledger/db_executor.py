"""Threads of our own for database work, so that it never waits behind a request's."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from agents.web.throttling import Lanes

T = TypeVar("T")

THREADS_PER_PERSON = 2
"""So that what one person asks for leaves threads to the others, and to their runs."""
IDLE_SECONDS = 2.0
"""After so long without use a connection is asked whether it still lives."""


class DatabaseExecutor:
    """`await database.run(work)` runs `work` in a thread whose connection is kept for the next.

    A connection that failed is closed, so that the next call opens a new one, and one that was
    idle is tried first: a database server that was restarted is met again without anybody noticing.
    """

    def __init__(self, threads: int, name: str) -> None:
        self._connections: list[BaseDatabaseWrapper] = []
        self._pool = ThreadPoolExecutor(threads, name, initializer=self._register_connection)
        self._lanes = Lanes(THREADS_PER_PERSON)

    async def run(self, work: Callable[[], T], person: int | str | None = None) -> T:
        """Run it; that of a person, a little at a time.

        A thread cannot be stopped: its place is free when it has ended, not when whoever asked has
        gone.
        """
        if person is None:
            return await self._begin(work)
        await self._lanes.acquire(person)
        try:
            running = self._begin(work)
        except RuntimeError:  # there are no more threads: whoever waits is to be told so too
            self._lanes.release(person)
            raise
        running.add_done_callback(lambda _: self._lanes.release(person))
        return await asyncio.shield(running)

    def _begin(self, work: Callable[[], T]) -> asyncio.Future[T]:
        return asyncio.get_running_loop().run_in_executor(self._pool, _run_guarded, work)

    async def close(self) -> None:
        """Wait for what is going on, then close every thread's connection."""
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._pool.shutdown()
        for kept in self._connections:
            kept.close()

    def _register_connection(self) -> None:
        kept = connections["default"]
        kept.inc_thread_sharing()  # so that `close` may close it
        self._connections.append(kept)


_last_used = threading.local()


def _run_guarded(work: Callable[[], T]) -> T:
    try:
        if _is_stale() and not connection.is_usable():
            connection.close()
        _last_used.at = time.monotonic()
        return work()
    except (OperationalError, InterfaceError):
        connection.close()
        raise


def _is_stale() -> bool:
    """Return whether this thread's connection has not been used for a while."""
    idle = time.monotonic() - float(getattr(_last_used, "at", 0.0))
    return connection.connection is not None and idle > IDLE_SECONDS
