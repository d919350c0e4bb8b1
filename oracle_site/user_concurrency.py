"""Pages of one person are made a few at a time: whoever reloads without end waits for themselves.

Each page takes a thread, and all threads take turns; sixteen of one person would be sixteen turns
before the next one of somebody else. Those who wait here take no thread.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from django.conf import settings
from django.http.cookie import parse_cookie

MAX_CONCURRENT = 2
PATH_PREFIXES = ("/c/", "/library/", "/notes/", "/runs/")
"""Pages that show what people and models wrote."""

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class UserConcurrencyLimiter:
    """In front of the pages: a lane for each session that asks for something at the moment."""

    def __init__(self, app: Any, max_concurrent: int = MAX_CONCURRENT) -> None:
        self._app, self._max_concurrent = app, max_concurrent
        self._semaphores: dict[str, asyncio.Semaphore] = {}
        self._counts = Counter[str]()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        key = _session_key(scope) if scope["path"].startswith(PATH_PREFIXES) else ""
        if not key:
            await self._app(scope, receive, send)
            return
        lane = self._semaphores.setdefault(key, asyncio.Semaphore(self._max_concurrent))
        self._counts[key] += 1
        try:
            async with lane:
                await self._app(scope, receive, send)
        finally:
            self._counts[key] -= 1
            if not self._counts[key]:
                del self._counts[key], self._semaphores[key]


def _session_key(scope: Message) -> str:
    """Return whose request it says it is, read as Django reads it; nothing if it does not say."""
    cookies = b"; ".join(value for name, value in scope["headers"] if name == b"cookie")
    return parse_cookie(cookies.decode("latin-1")).get(settings.SESSION_COOKIE_NAME, "")
