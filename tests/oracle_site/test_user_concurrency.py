"""Pages of one person are made a few at a time, and nobody else waits for them."""

import asyncio
from typing import Any

import pytest

from oracle_site.user_concurrency import UserConcurrencyLimiter
from tests.support.timing import PATIENCE


class Pages:
    """An application that answers when it is told to."""

    def __init__(self) -> None:
        self.inside: list[str] = []
        self.most = 0
        self.goes_on = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.inside.append(scope["who"])
        self.most = max(self.most, len(self.inside))
        try:
            await self.goes_on.wait()
        finally:
            self.inside.remove(scope["who"])


def visit(
    app: UserConcurrencyLimiter, who: str, path: str = "/c/1/", before: str = ""
) -> "asyncio.Task[None]":
    cookie = f"{before}sessionid={who}".encode("latin-1") if who else b""
    scope = {"type": "http", "path": path, "headers": [(b"cookie", cookie)], "who": who}
    return asyncio.ensure_future(app(scope, None, None))  # type: ignore[arg-type]


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.parametrize("before", ["", "csrftoken=x; ", "a=[;{\x80; =; ", 'b="; '])
async def test_two_of_a_session_at_once_and_others_beside_them(before: str) -> None:
    pages = Pages()
    app = UserConcurrencyLimiter(pages)
    visits = [visit(app, "mallory", before=before) for _ in range(16)] + [visit(app, "ada")]
    await settled()
    assert sorted(pages.inside) == ["ada", "mallory", "mallory"]
    pages.goes_on.set()
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*visits)
    assert pages.most == 3
    assert (app._semaphores, app._counts) == ({}, {})


async def test_whoever_leaves_gives_the_place_back() -> None:
    pages = Pages()
    app = UserConcurrencyLimiter(pages, max_concurrent=1)
    first, waiting, last = (visit(app, "ada") for _ in range(3))
    await settled()
    waiting.cancel()
    first.cancel()
    await asyncio.wait([first, waiting])
    await settled()
    assert pages.inside == ["ada"]
    pages.goes_on.set()
    await last
    assert app._semaphores == {}


@pytest.mark.parametrize(("who", "path"), [("", "/c/1/"), ("ada", "/static/js/frames.js")])
async def test_other_requests_do_not_wait(who: str, path: str) -> None:
    pages = Pages()
    app = UserConcurrencyLimiter(pages)
    visits = [visit(app, who, path) for _ in range(5)]
    await settled()
    assert len(pages.inside) == 5
    pages.goes_on.set()
    await asyncio.gather(*visits)
