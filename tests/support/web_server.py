"""A web server on loopback that answers as it is told, and a tool's way to it.

    async with WebServer({"/": page("<p>Hello")}) as server:
        await server.pages().fetch(server.url("/"))

Nothing is looked up: every name leads to loopback, which is allowed for the names of the server.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Self

from agents.llm import build_policy
from agents.tools.web_hosts import WebHosts
from agents.tools.web_pages import WebPages
from tests.support.timing import PATIENCE

HOST = "docs.example"
Answer = bytes | Callable[[], AsyncIterator[bytes]]


def page(
    body: str | bytes, content_type: str = "text/html; charset=utf-8", **headers: str
) -> bytes:
    """A whole answer. Headers are named with underscores."""
    data = body.encode() if isinstance(body, str) else body
    named = {"content-type": content_type, "content-length": str(len(data)), **headers}
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in named.items() if value]
    return "\r\n".join(["HTTP/1.1 200 OK", *lines, "", ""]).encode("latin-1") + data


def redirect(location: str, status: str = "302 Found") -> bytes:
    head = f"HTTP/1.1 {status}\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"
    return head.encode("utf-8")


class WebServer:
    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self._answers = answers
        self.requests: list[bytes] = []
        """The heads of what was asked."""
        self.asked_names: list[str] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks)

    def url(self, path: str = "/", host: str = HOST) -> str:
        return f"http://{host}:{self.port}{path}"

    def pages(self, hosts: str = HOST, seconds: float = PATIENCE) -> WebPages:
        """What reads its pages, and those of no other machine."""
        inside = [f"{name.removeprefix('*.')}:{self.port}" for name in hosts.split()]
        policy = build_policy("yes", tuple(inside))
        return WebPages(WebHosts.parse(hosts), policy, self._resolve, seconds)

    async def _resolve(self, host: str, port: int) -> Sequence[str]:
        self.asked_names.append(host)
        return ["127.0.0.1"]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while head := await _read_head(reader):
                self.requests.append(head)
                answer = self._answers[head.split()[1].decode()]
                if isinstance(answer, bytes):
                    writer.write(answer)
                    await writer.drain()
                    continue
                async for piece in answer():
                    writer.write(piece)
                    await writer.drain()
                break
        except (ConnectionError, asyncio.CancelledError):
            pass  # who asked has gone, or the test is over
        finally:
            self._tasks.discard(task)
            writer.close()


async def _read_head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""
