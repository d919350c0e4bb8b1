"""Where a run waits: model events, tool results and wake-up calls all arrive in one place."""

import asyncio
import threading
from collections import deque
from typing import Generic, TypeVar

from agents.core.cancellation import Cancellation

T = TypeVar("T")
K = TypeVar("K")
CAPACITY = 32


class Inbox(Generic[T]):
    """One reader, several writers. A wake-up carries no data: the reader looks at the facts.

    Timers and cancellation only wake the reader, so a wake-up too many is harmless, and what
    they stand for cannot be lost in a queue or mistaken for that of an earlier turn.
    """

    def __init__(self, cancellation: Cancellation) -> None:
        self._cancellation = cancellation
        self._items: deque[T] = deque()
        self._woken = False
        self._reader: asyncio.Future[None] | None = None
        self._capacity_freed: asyncio.Future[None] | None = None
        self._closed = False
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        cancellation.subscribe(self._on_cancel)

    def put(self, item: T) -> None:
        """Hand over an item. What comes from a writer that was given up is dropped."""
        if not self._closed:
            self._items.append(item)
            self._release_reader()

    def put_threadsafe(self, item: T) -> None:
        """Do as `put`, also from another thread than the reader's."""
        if threading.get_ident() == self._thread:
            self.put(item)
        else:
            self._loop.call_soon_threadsafe(self.put, item)

    async def wait_for_capacity(self) -> None:
        """Wait while a slow reader catches up. For writers that can, after what they put."""
        while len(self._items) >= CAPACITY:
            self._capacity_freed = self._capacity_freed or self._loop.create_future()
            await asyncio.shield(self._capacity_freed)

    def wake(self) -> None:
        self._woken = True
        self._release_reader()

    async def get(self) -> T | None:
        """Return the next item, or None for a wake-up. Wake-ups come first: they are urgent."""
        while not (self._woken or self._items):
            self._reader = self._loop.create_future()
            await self._reader
        if self._woken:
            self._woken = False
            return None
        return self._pop()

    def pop_if(self, kind: type[K]) -> K | None:
        """Return the next item, if it is here already, of this type, and nothing is more urgent."""
        if self._woken or not self._items or type(self._items[0]) is not kind:
            return None
        return self._pop()  # type: ignore[return-value]  # it is of that type

    def _pop(self) -> T:
        item = self._items.popleft()
        if self._capacity_freed is not None and len(self._items) < CAPACITY // 2:
            self._release_writers()
        return item

    def drain(self) -> list[T]:
        """Return whatever has arrived and was not read."""
        items = list(self._items)
        self._items.clear()
        self._release_writers()
        return items

    def close(self) -> None:
        """Take nothing more. Harmless the second time."""
        if not self._closed:
            self._closed = True
            self._cancellation.unsubscribe(self._on_cancel)
            self.drain()

    def _on_cancel(self) -> None:
        """Wake the reader. Cancellation may be asked for in any thread."""
        if threading.get_ident() == self._thread:
            self.wake()
        else:
            self._loop.call_soon_threadsafe(self.wake)

    def _release_reader(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def _release_writers(self) -> None:
        if self._capacity_freed is not None and not self._capacity_freed.done():
            self._capacity_freed.set_result(None)
        self._capacity_freed = None
