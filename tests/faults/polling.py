"""Waiting for what happens in another process, where nothing can be awaited."""

import asyncio
from collections.abc import Awaitable, Callable


async def until(holds: Callable[[], Awaitable[bool]], seconds: float, pause: float = 0.01) -> None:
    """Look again and again until something is so; TimeoutError if it is not in time."""
    async with asyncio.timeout(seconds):
        while not await holds():  # noqa: ASYNC110  # there is no event of another process
            await asyncio.sleep(pause)
