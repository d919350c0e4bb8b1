"""Threads for tools that block. One that does not come back is abandoned, counted and capped."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from django.db import connections

from agents.tools.definition import ToolFailed

T = TypeVar("T")


class ToolThreads:
    """Runs blocking functions in daemon threads, so that a stuck one cannot hold up an exit."""

    def __init__(self, max_abandoned: int = 32) -> None:
        self.max_abandoned = max_abandoned
        self.abandoned = 0
        """Threads that nobody waits for any more and that have not come back."""

    async def run(self, function: Callable[[], T]) -> T:
        if self.abandoned >= self.max_abandoned:
            raise ToolFailed(
                f"{self.abandoned} calls of blocking tools have not come back. "
                "Do without this tool."
            )
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        context = contextvars.copy_context()

        def work() -> None:
            try:
                result = context.run(function)
            except BaseException as error:
                self._deliver_result(loop, future, error, None)
            else:
                self._deliver_result(loop, future, None, result)
            finally:
                connections.close_all()  # those that this thread opened: it ends here

        threading.Thread(target=work, name="oracle-tool", daemon=True).start()
        try:
            return await future
        except asyncio.CancelledError:
            if future.cancelled():
                self.abandoned += 1
            raise

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


def _to_transferable_error(error: BaseException) -> Exception:
    """Return an error that a future can hold; StopIteration and exits cannot cross a thread."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return RuntimeError(type(error).__name__)


THREADS = ToolThreads()
