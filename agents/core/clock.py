"""The clock of a running event loop."""

import asyncio
import time
from collections.abc import Callable

from agents.core.ports import Timer


class LoopClock:
    """Implements the Clock port on the event loop that it is used in."""

    def time(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_at(when, callback)
