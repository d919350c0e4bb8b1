"""A scripted chat-completions endpoint on a real socket.

    async with ScriptedEndpoint(Script([say("hello")])) as endpoint:
        ...  # talk to endpoint.base_url

Leaving the block raises AssertionError for unexpected requests and unused steps.
"""

import asyncio
import socket
import ssl
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self, cast

from .script_player import End, Player, Recorded, Scripts
from .wire import STATUSES, Answer, Ending, Head

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class ScriptedEndpoint(Player):
    """Over a socket a connection cannot be refused once it listens: refuse_connection resets it
    and hang_connect never answers. `refusing_base_url` gives the real refusal."""

    def __init__(self, scripts: Scripts, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(scripts)
        self._tls = tls
        self.connections: set[_Connection] = set()
        self._server: asyncio.Server | None = None

    @property
    def base_url(self) -> str:
        assert self._server is not None, "the endpoint is open inside `async with` only"
        host, port = self._server.sockets[0].getsockname()
        return f"{'https' if self._tls else 'http'}://{host}:{port}/v1"

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._connect, "127.0.0.1", 0, ssl=self._tls)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._shut_down()
        if kind is None:
            self.check()

    @property
    def serving(self) -> bool:
        return self._server is not None and self._server.is_serving()

    def _connect(self) -> "_Connection":
        return _Connection(self)

    async def _shut_down(self) -> None:
        assert self._server is not None
        self._server.close()
        for record in self.requests:
            self.close(record, "shut down")
        while self.connections:
            await asyncio.gather(*[connection.drop() for connection in self.connections])
        await self._server.wait_closed()


class _Connection(asyncio.Protocol):
    """One client connection: requests one after the other."""

    def __init__(self, endpoint: ScriptedEndpoint) -> None:
        self._endpoint = endpoint
        self._buffer = b""
        self._task: asyncio.Task[None] | None = None
        self._record: Recorded | None = None
        self._lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._endpoint.connections.add(self)
        if not self._endpoint.serving:  # Accepted while the endpoint was closing.
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._task is None:
            self._take_request()

    def connection_lost(self, error: Exception | None) -> None:
        if self._record is not None:
            self._endpoint.close(self._record, "aborted")
        if self._task is not None:
            self._task.cancel()
        self._endpoint.connections.discard(self)
        self._lost.set_result(None)

    async def drop(self) -> None:
        self._transport.abort()
        await self._lost
        if self._task is not None:
            await asyncio.wait([self._task])

    def _take_request(self) -> None:
        taken = _parse(self._buffer)
        if taken is None:
            return
        method, path, headers, body, self._buffer = taken
        self._record, answer = self._endpoint.answer(method, path, headers, body)
        self._task = asyncio.get_running_loop().create_task(self._respond(answer))
        self._task.add_done_callback(self._responded)

    def _responded(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            return
        if error := task.exception():
            self._endpoint.unexpected.append(f"could not answer: {error!r}")
            self._transport.abort()
        self._task = None
        if not self._transport.is_closing():
            self._take_request()

    async def _respond(self, answer: Answer) -> None:
        await _pause(answer.wait)
        if answer.head is not None:
            self._transport.write(_head(answer.head))
            for piece in answer.pieces:
                await _pause(piece.wait)
                self._transport.write(_framed(piece.data, answer.head))
            await _pause(answer.last_wait)
        await self._end(answer)

    async def _end(self, answer: Answer) -> None:
        match answer.ending:
            case Ending.COMPLETE:
                if answer.head is not None and answer.head.length is None:
                    self._transport.write(b"0\r\n\r\n")
                self._note("complete")
            case Ending.CLOSE:
                self._note("cut")
                self._transport.close()
            case Ending.RESET | Ending.REFUSE:
                self._note("cut")
                self._reset()
            case Ending.STALL | Ending.STALL_CONNECT:
                await asyncio.get_running_loop().create_future()

    def _note(self, end: End) -> None:
        if self._record is not None:
            self._endpoint.close(self._record, end)

    def _reset(self) -> None:
        client = self._transport.get_extra_info("socket")
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self._transport.abort()


@contextmanager
def refusing_base_url() -> Iterator[str]:
    """The address of an endpoint that refuses connections: its port is taken, nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


async def _pause(seconds: float) -> None:
    """Not even a turn of the loop for 0: whoever has read the last byte finds the accounts done."""
    if seconds:
        await asyncio.sleep(seconds)


def _parse(data: bytes) -> tuple[str, str, dict[str, str], bytes, bytes] | None:
    """Method, path, headers, body and what follows; None while the request is incomplete."""
    head, blank, rest = data.partition(b"\r\n\r\n")
    if not blank:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    length = int(headers.get("content-length", "0"))
    if len(rest) < length:
        return None
    method, target, _ = first.split(" ", 2)
    return method, target.partition("?")[0], headers, rest[:length], rest[length:]


def _head(head: Head) -> bytes:
    framing = (
        ("transfer-encoding", "chunked")
        if head.length is None
        else ("content-length", str(head.length))
    )
    lines = [f"HTTP/1.1 {head.status} {STATUSES[head.status]}"]
    lines += [f"{name}: {value}" for name, value in (*head.headers, framing)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _framed(data: bytes, head: Head) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data) if head.length is None else data
