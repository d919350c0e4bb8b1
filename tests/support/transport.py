"""The same scripts in process, byte for byte, without sockets: fit for virtual time.

    async with ScriptedTransport(Script([say("hello")])) as transport:
        client = httpx.AsyncClient(transport=transport, base_url=transport.base_url)

Leaving the outermost block raises AssertionError for unexpected requests and unused steps. A
client that is used as a context manager enters and leaves the transport too: keep an own block
around it when several clients share one transport.
"""

import asyncio
import math
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self

import httpx

from .script_player import Player, Recorded, Scripts
from .wire import Answer, Ending

_NO_RESPONSE = "Server disconnected without sending a response."
_INCOMPLETE = "peer closed connection without sending complete message body"


class ScriptedTransport(Player, httpx.AsyncBaseTransport):
    base_url = "http://scripted.test/v1"

    def __init__(self, scripts: Scripts) -> None:
        super().__init__(scripts)
        self._depth = 0

    async def __aenter__(self) -> Self:
        self._depth += 1
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        self._depth -= 1
        if self._depth == 0 and kind is None:
            self.check()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        data = await request.aread()
        headers = {name.lower(): value for name, value in request.headers.items()}
        record, answer = self.answer(request.method, request.url.path, headers, data)
        connection = _Connection(self, record, answer, request)
        head = answer.head
        try:
            await connection.wait(answer.wait)
            if head is None:
                await connection.end()
        except BaseException:
            connection.abort()
            raise
        assert head is not None, "an answer without a head ends in an exception"
        framing = [] if head.length is None else [("content-length", str(head.length))]
        return httpx.Response(head.status, headers=[*head.headers, *framing], stream=connection)


class _Connection(httpx.AsyncByteStream):
    def __init__(
        self, player: Player, record: Recorded | None, answer: Answer, request: httpx.Request
    ) -> None:
        self._player = player
        self._record = record
        self._answer = answer
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces = self._answer.pieces
        for number, piece in enumerate(pieces, start=1):
            await self.wait(piece.wait)
            if number == len(pieces):
                self._note_complete()
            yield piece.data
        await self.end()

    async def aclose(self) -> None:
        self.abort()

    def abort(self) -> None:
        """The client went away. Means nothing once the answer has ended."""
        if self._record is not None:
            self._player.close(self._record, "aborted")

    async def wait(self, seconds: float, limited_by: str = "read") -> None:
        """Wait as a client waits for bytes, with its time-out."""
        limits = self._request.extensions.get("timeout", {})
        limit = limits.get(limited_by)
        if limit is None or seconds <= limit:
            await asyncio.sleep(seconds)
            return
        await asyncio.sleep(limit)
        if limited_by == "connect":
            raise httpx.ConnectTimeout("connect timed out", request=self._request)
        raise httpx.ReadTimeout("read timed out", request=self._request)

    async def end(self) -> None:
        """What the client meets after the last byte: an exception unless all is well."""
        answer, request = self._answer, self._request
        await self.wait(answer.last_wait)
        if answer.ending is Ending.STALL:
            await self.wait(math.inf)
        if answer.ending is Ending.STALL_CONNECT:
            await self.wait(math.inf, "connect")
        self._note_complete()
        self._note_cut()
        if answer.ending is Ending.REFUSE:
            raise httpx.ConnectError("connection refused", request=request)
        if answer.ending is Ending.RESET:
            raise httpx.ReadError("connection reset by peer", request=request)
        if answer.ending is Ending.CLOSE:
            message = _NO_RESPONSE if answer.head is None else _INCOMPLETE
            raise httpx.RemoteProtocolError(message, request=request)

    def _note_complete(self) -> None:
        """Noted with the last byte: a client need not wait for the end of the body."""
        if self._record is not None and self._answer.ending is Ending.COMPLETE:
            self._player.close(self._record, "complete")

    def _note_cut(self) -> None:
        if self._record is not None:
            self._player.close(self._record, "cut")
