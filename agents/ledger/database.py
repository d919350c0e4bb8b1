"""Threads of our own for database work, so that it never waits behind a request's."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

T = TypeVar("T")


class Database:
    """`await database.run(work)` runs `work` in a thread whose connection is kept for the next.

    A connection that failed is closed, so that the next call opens a new one: a database server
    that was restarted is met again without restarting ours.
    """

    def __init__(self, threads: int, name: str) -> None:
        self._connections: list[BaseDatabaseWrapper] = []
        self._pool = ThreadPoolExecutor(threads, name, initializer=self._remember)

    async def run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, _guarded, work)

    async def close(self) -> None:
        """Wait for what is going on, then close every thread's connection."""
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._pool.shutdown()
        for kept in self._connections:
            kept.close()

    def _remember(self) -> None:
        kept = connections["default"]
        kept.inc_thread_sharing()  # so that `close` may close it
        self._connections.append(kept)


def _guarded(work: Callable[[], T]) -> T:
    try:
        return work()
    except (OperationalError, InterfaceError):
        connection.close()
        raise
