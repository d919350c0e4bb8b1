"""Calls that were cut and still run: they take the place of others, until they end."""

import asyncio
from collections.abc import Callable, Iterable


class Stragglers:
    def __init__(self, wake: Callable[[], None]) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._wake = wake
        """Called when one of them has ended."""

    def __len__(self) -> int:
        return len(self._tasks)

    def keep(self, tasks: Iterable[asyncio.Task[None]]) -> None:
        """Remember those that have not ended."""
        for task in tasks:
            if not task.done():
                self._tasks.add(task)
                task.add_done_callback(self._drop)

    def _drop(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._wake()
