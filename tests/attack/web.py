"""Pages of the web that do all they can to whoever reads them, on loopback."""

import asyncio
import gzip
from collections.abc import AsyncIterator

import httpx

from agents.tools.web_pages import MAX_BYTES
from tests.attack.scene import Scene
from tests.support.web_server import Answer, WebServer, page, redirect

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n"
INSIDE = (
    *("127.0.0.1", "localhost", "2130706433", "0x7f.1", "0177.0.0.1", "[::1]", "0.0.0.0"),  # noqa: S104  # an address to refuse
    *("[::ffff:127.0.0.1]", "169.254.169.254", "10.0.0.1", "[fd00::1]", "127.1"),
)
"""Addresses that nobody outside should reach, in many spellings."""


async def _drip() -> AsyncIterator[bytes]:
    yield HEAD
    while True:
        yield b"x"
        await asyncio.sleep(0.2)


async def _pour() -> AsyncIterator[bytes]:
    yield HEAD
    while True:
        yield b"<p>" + b"x" * 60_000


async def _announce() -> AsyncIterator[bytes]:
    """Interim responses without end: each is complete, and none is the answer."""
    while True:
        yield b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1_000


async def _crumble() -> AsyncIterator[bytes]:
    """A body in chunks of one byte."""
    yield b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ntransfer-encoding: chunked\r\n\r\n"
    while True:
        yield b"1\r\nx\r\n" * 5_000


DEAR: dict[str, Answer] = {
    "/nested": page("<p>deep" + "<div>" * 300_000),
    "/entities": page("&amp;" * (MAX_BYTES // 5 - 1)),
    "/links": page("<a href=x>y</a>" * (MAX_BYTES // 20)),
    "/lines": page("x" + "\r" * (MAX_BYTES - 1), content_type="text/plain"),
}
"""Pages that are read, and take as long as a page of their size may take."""


def _list_answers() -> dict[str, Answer]:
    bomb = page(gzip.compress(bytes(50 * MAX_BYTES)), content_encoding="gzip")
    inside = {f"/inside{n}": redirect(f"http://{host}/") for n, host in enumerate(INSIDE)}
    endless: dict[str, Answer] = {"/slow": _drip, "/endless": _pour}
    endless |= {"/interim": _announce, "/crumbs": _crumble}
    return {**endless, "/bomb": bomb, "/circle": redirect("/circle"), **inside, **DEAR}


async def web(scene: Scene) -> None:
    """Pages that never end, come slowly, burst when unpacked, or lead to addresses inside."""
    answers = _list_answers()
    async with WebServer(answers) as server, scene.target.client() as http:

        async def act() -> None:
            path = scene.rng.choice([*DEAR, *answers])
            asked = {"port": server.port, "path": path, "seconds": 2.0}
            answer = await http.post("/door/fetch", json=asked)
            if answer.status_code != httpx.codes.OK:
                scene.broken.append(f"{path} was answered {answer.status_code}")
            elif answer.json()["read"] != (path in DEAR):
                scene.broken.append(f"{path} was {'read' if path not in DEAR else 'not read'}")

        await scene.together(act, most=3)
