"""Pages of one person are made a few at a time, and nobody else waits for them."""

import asyncio
from typing import Any

import httpx
import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from oracle_site.asgi import pages
from oracle_site.user_concurrency import USER_KEY, UserConcurrencyLimiter
from tests.support.timing import PATIENCE

HOME = "192.0.2.1"


class Pages:
    """An application that answers when it is told to, and knows who has signed in."""

    def __init__(self, **users: int) -> None:
        self.inside: list[str] = []
        self.most = 0
        self.users = users
        self.goes_on = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.inside.append(scope["who"])
        self.most = max(self.most, len(self.inside))
        try:
            await self.goes_on.wait()
        finally:
            self.inside.remove(scope["who"])
        if scope["who"] in self.users:
            scope[USER_KEY] = self.users[scope["who"]]


def visit(
    app: UserConcurrencyLimiter,
    who: str,
    path: str = "/c/1/",
    before: str = "",
    address: str = HOME,
) -> "asyncio.Task[None]":
    cookie = f"{before}sessionid={who}".encode("latin-1") if who else b""
    scope = {
        "type": "http",
        "path": path,
        "headers": [(b"cookie", cookie)],
        "client": (address, 1),
        "who": who,
    }
    return asyncio.ensure_future(app(scope, None, None))  # type: ignore[arg-type]


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def known(pages: Pages, max_concurrent: int = 2) -> UserConcurrencyLimiter:
    """A limiter that has seen everybody once."""
    app = UserConcurrencyLimiter(pages, max_concurrent)
    pages.goes_on.set()
    for who in pages.users:
        await visit(app, who)
    pages.goes_on.clear()
    pages.most = 0
    return app


async def let_all_go(pages: Pages, visits: "list[asyncio.Task[None]]") -> None:
    pages.goes_on.set()
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*visits)


@pytest.mark.parametrize("before", ["", "csrftoken=x; ", "a=[;{\x80; =; ", 'b="; '])
async def test_two_of_a_person_at_once_and_others_beside_them(before: str) -> None:
    pages = Pages(mallory=1, ada=2)
    app = await known(pages)
    visits = [visit(app, "mallory", before=before) for _ in range(16)] + [visit(app, "ada")]
    await settled()
    assert sorted(pages.inside) == ["ada", "mallory", "mallory"]
    await let_all_go(pages, visits)
    assert pages.most == 3
    assert len(app._lanes) == 0


@pytest.mark.parametrize(
    "path",
    [
        *("/settings/notifications/", "/settings/rules/", "/search/", "/admin/", "/", "/usage/"),
        "/library/tidewatch/code/upload/progress/",
    ],
)
async def test_no_page_is_left_out(path: str) -> None:
    pages = Pages(mallory=1)
    app = await known(pages)
    visits = [visit(app, "mallory", path) for _ in range(10)]
    await settled()
    assert len(pages.inside) == 2
    await let_all_go(pages, visits)


async def test_all_sessions_of_a_person_share_what_they_have() -> None:
    pages = Pages(phone=1, desk=1, ada=2)
    app = await known(pages)
    visits = [visit(app, who) for who in ("phone", "desk", "phone", "desk", "ada")]
    await settled()
    assert sorted(pages.inside) == ["ada", "desk", "phone"]
    await let_all_go(pages, visits)


async def test_sessions_that_are_made_up_are_those_of_an_address() -> None:
    pages = Pages(ada=1)
    app = await known(pages)
    made_up = [visit(app, f"x{number}", address="192.0.2.9") for number in range(20)]
    visits = [*made_up, visit(app, ""), visit(app, "ada")]
    await settled()
    assert sorted(pages.inside) == ["", "ada", "x0", "x1"]
    await let_all_go(pages, visits)


@pytest.mark.parametrize(
    "long_request",
    [
        reverse("model-test"),
        reverse("library-upload", args=["tidewatch"]),
        reverse("library-upload-piece", args=["tidewatch"]),
        reverse("library-code-upload", args=["tidewatch"]),
        reverse("library-code-upload-piece", args=["tidewatch"]),
        reverse("library-code-remove", args=["tidewatch", 7]),
        reverse("library-download", args=["tidewatch"]),
        reverse("export-everything"),
        reverse("admin:agents_agentrun_export", args=["csv"]),
        reverse("admin:agents_agentrun_replay"),
        reverse("rule-try"),
        reverse("behaviour-try"),
        reverse("library-file", args=["tidewatch", "maps/large.png"]),
    ],
)
async def test_a_long_request_holds_up_no_page_of_its_person(long_request: str) -> None:
    pages = Pages(ada=1)
    app = await known(pages)
    visits = [visit(app, "ada", long_request) for _ in range(3)]
    visits += [visit(app, "ada", "/c/1/")]
    await settled()
    assert len(pages.inside) == 3
    await let_all_go(pages, visits)


async def test_a_picture_does_not_wait_behind_imports() -> None:
    pages = Pages(ada=1)
    app = await known(pages)
    visits = [visit(app, "ada", reverse("library-upload", args=["tidewatch"])) for _ in range(3)]
    visits += [visit(app, "ada", reverse("library-file", args=["tidewatch", "a.png"]))]
    await settled()
    assert len(pages.inside) == 3
    await let_all_go(pages, visits)


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
    assert len(app._lanes) == 0


@pytest.mark.parametrize("path", ["/static/js/frames.js", "/healthz", "/readyz"])
async def test_other_requests_do_not_wait(path: str) -> None:
    pages = Pages()
    app = UserConcurrencyLimiter(pages)
    visits = [visit(app, "ada", path) for _ in range(5)]
    await settled()
    assert len(pages.inside) == 5
    await let_all_go(pages, visits)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", ["/settings/", "/usage/", "/projects/", "/admin/"])
async def test_the_site_tells_who_asked(path: str) -> None:
    ada = await User.objects.acreate(username="ada")
    browser = Client()
    await sync_to_async(browser.force_login)(ada)
    session = browser.cookies["sessionid"].value
    app = UserConcurrencyLimiter(pages)
    transport = httpx.ASGITransport(app=app)  # type: ignore[arg-type]  # an ASGI app
    async with httpx.AsyncClient(transport=transport, base_url="https://127.0.0.1") as http:
        await http.get("/sign-in/", headers={"Cookie": "sessionid=made-up"})
        await http.get(path, headers={"Cookie": f"sessionid={session}"})
        assert app._people.find(session, "") == ada.pk
        assert app._people.find("made-up", "") == ""
        await sync_to_async(browser.logout)()
        await http.get(path, headers={"Cookie": f"sessionid={session}"})
    assert app._people.find(session, "") == ""
