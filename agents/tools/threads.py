"""Threads for tools that block. One that does not come back is abandoned, counted and capped."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from agents.tools.definition import ToolFailed

T = TypeVar("T")


class ToolThreads:
    """Runs blocking functions in daemon threads, so that a stuck one cannot hold up an exit."""

    def __init__(self, cap: int = 32) -> None:
        self.cap = cap
        self.busy = 0
        """Threads that have not come back yet, abandoned ones included."""

    async def run(self, function: Callable[[], T]) -> T:
        if self.busy >= self.cap:
            raise ToolFailed(
                f"All {self.cap} places for blocking tools are taken by calls that do not come "
                "back. Do without this tool."
            )
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        context = contextvars.copy_context()
        self.busy += 1

        def work() -> None:
            try:
                result = context.run(function)
            except BaseException as error:
                self._report(loop, future, error, None)
            else:
                self._report(loop, future, None, result)

        threading.Thread(target=work, name="oracle-tool", daemon=True).start()
        return await future

    def _report(
        self,
        loop: asyncio.AbstractEventLoop,
        future: "asyncio.Future[Any]",
        error: BaseException | None,
        result: Any,
    ) -> None:
        def settle() -> None:
            self.busy -= 1
            if future.done():
                return
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(_carried(error))

        try:
            loop.call_soon_threadsafe(settle)
        except RuntimeError:  # the loop is closed: nobody is waiting any more
            self.busy -= 1


def _carried(error: BaseException) -> Exception:
    """An error that a future can hold; StopIteration and exits cannot cross a thread."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return RuntimeError(type(error).__name__)


THREADS = ToolThreads()
