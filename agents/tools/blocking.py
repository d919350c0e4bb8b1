"""Threads for tools that block. One that does not come back is abandoned, counted and capped.

One that does come back waits a moment for the next call, with its connection to the database: to
open one takes three times as long as to read a note.
"""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, TypeVar

from django.db import connections

from agents.tools.definition import ToolFailed

T = TypeVar("T")

IDLE_SECONDS = 2.0
"""How long a thread waits. What was idle no longer is not asked whether it still lives."""


class Call(NamedTuple):
    """What a thread is to do, and who is to hear of it."""

    work: Callable[[], Any]
    deliver: Callable[[BaseException | None, Any], None]


Calls = SimpleQueue[Call | None]
"""What a thread is handed, one at a time. None: that it is to end."""


class ToolThreads:
    """Runs blocking functions in daemon threads, so that a stuck one cannot hold up an exit."""

    def __init__(self, max_abandoned: int = 32, idle_seconds: float = IDLE_SECONDS) -> None:
        self.max_abandoned = max_abandoned
        self.abandoned = 0
        """Threads that nobody waits for any more and that have not come back."""
        self.max_idle = 4
        """Threads that wait for a call at most: as many connections are open for nothing."""
        self._idle_seconds = idle_seconds
        self._idle: dict[Calls, threading.Thread] = {}
        self._lock = threading.Lock()

    async def run(self, function: Callable[[], T]) -> T:
        if self.abandoned >= self.max_abandoned:
            raise ToolFailed(
                f"{self.abandoned} calls of blocking tools have not come back. "
                "Do without this tool."
            )
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        work = partial(contextvars.copy_context().run, function)
        self._hand_over(Call(work, partial(self._deliver_result, loop, future)))
        try:
            return await future
        except asyncio.CancelledError:
            if future.cancelled():
                self.abandoned += 1
            raise

    def close_idle(self) -> None:
        """End the threads that wait for a call, and with them their connections."""
        with self._lock:
            idle, self._idle = self._idle, {}
        for calls in idle:
            calls.put(None)
        for thread in idle.values():
            thread.join(self._idle_seconds)

    def _hand_over(self, call: Call) -> None:
        """Give a call to the thread that has waited least, or to a new one."""
        with self._lock:
            calls = self._idle.popitem()[0] if self._idle else None
        if calls is not None:
            calls.put(call)
            return
        calls = SimpleQueue()
        calls.put(call)
        threading.Thread(target=self._serve, args=(calls,), name="oracle-tool", daemon=True).start()

    def _serve(self, calls: Calls) -> None:
        """Make one call after another, until one fails or none comes for a while."""
        try:
            while (call := self._wait(calls)) is not None:
                error, result = _make(call.work)
                is_kept = error is None and _has_clean_connections() and self._add_idle(calls)
                call.deliver(error, result)  # whoever gets it finds this thread waiting
                del call, error, result
                if not is_kept:
                    break
        finally:
            connections.close_all()  # those that this thread opened: it ends here

    def _add_idle(self, calls: Calls) -> bool:
        with self._lock:
            if len(self._idle) >= self.max_idle:
                return False
            self._idle[calls] = threading.current_thread()
            return True

    def _wait(self, calls: Calls) -> Call | None:
        try:
            return calls.get(timeout=self._idle_seconds)
        except Empty:
            with self._lock:
                if self._idle.pop(calls, None) is not None:
                    return None
            return calls.get()  # somebody has just taken this thread

    def _deliver_result(
        self,
        loop: asyncio.AbstractEventLoop,
        future: "asyncio.Future[Any]",
        error: BaseException | None,
        result: Any,
    ) -> None:
        def resolve_future() -> None:
            if future.cancelled():
                self.abandoned -= 1
            elif error is None:
                future.set_result(result)
            else:
                future.set_exception(_to_transferable_error(error))

        try:
            loop.call_soon_threadsafe(resolve_future)
        except RuntimeError:  # the loop is closed: nobody waits, and nobody will settle it
            self.abandoned -= future.cancelled()


def _make(work: Callable[[], Any]) -> tuple[BaseException | None, Any]:
    try:
        return None, work()
    except BaseException as error:
        return error, None


def _has_clean_connections() -> bool:
    """Return whether this thread's connections have met no error, and no transaction is open."""
    opened = connections.all(initialized_only=True)
    return not any(one.errors_occurred or one.in_atomic_block for one in opened)


def _to_transferable_error(error: BaseException) -> Exception:
    """Return an error that a future can hold; StopIteration and exits cannot cross a thread."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return RuntimeError(type(error).__name__)


THREADS = ToolThreads()
