"""Connections that can rest between reads.

People are shown some eight frames a second, but every read of every token costs the same: waking
up, timeouts, framing. While a connection rests, the bytes wait in the socket, where gathering them
is free.
"""

import asyncio
import math
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpcore
from anyio import BrokenResourceError, ClosedResourceError, EndOfStream
from anyio.abc import ByteStream
from anyio.streams.tls import TLSAttribute, TLSStream

READ_INTERVAL_SECONDS = 0.08
GRID_SECONDS = 0.02
"""Rests end on this grid, so that what several runs read is committed and shown together."""
FLOOD_BYTES = 4096
"""Bytes in one read from which on there is no rest: more is probably waiting."""
MAX_READ_BYTES = 4096
"""Bytes that are read, and then parsed, in one turn of the event loop."""
MAX_TURN_SECONDS = 0.05
"""That others get for one turn of a flood: as long as it took, and not more than this."""


class PacedStream(ByteStream):
    """A socket that can rest before it is read: below TLS, whose records are small.

    It is read directly: after a rest there is nearly always something to read, and no loop has to
    be asked to watch for it.
    """

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._is_flooded = False
        self._has_delayed = False
        self._waiting: asyncio.Future[None] | None = None
        self._last_read_at = 0.0
        self.may_delay = False
        """Whether what comes next may be read a little later."""

    async def read_paced(self, max_bytes: int) -> bytes | None:
        """Return what is there after a rest, if anything. Nothing at all is the end.

        In a flood there is always something. Others get a turn between two reads, time-outs too.
        """
        if self._is_flooded:
            await asyncio.sleep(min(self.idle_seconds, MAX_TURN_SECONDS))
        if self.may_delay and not (self._is_flooded or self._has_delayed):
            self._has_delayed = True
            await asyncio.sleep(_seconds_to_next_read())
        return self._receive_now(max_bytes)

    def _receive_now(self, max_bytes: int) -> bytes | None:
        try:
            data = self._socket.recv(min(max_bytes, MAX_READ_BYTES))
        except (BlockingIOError, InterruptedError):
            return None
        except OSError as error:
            raise BrokenResourceError from error
        self._last_read_at = time.monotonic()
        self._is_flooded = len(data) >= FLOOD_BYTES
        self._has_delayed = False
        return data

    @property
    def idle_seconds(self) -> float:
        """Seconds since the last byte."""
        return time.monotonic() - self._last_read_at

    async def receive(self, max_bytes: int = 65_536) -> bytes:
        while (data := await self.read_paced(max_bytes)) is None:
            await self._wait_readable()
        if not data:
            raise EndOfStream
        return data

    async def _wait_readable(self) -> None:
        loop = asyncio.get_running_loop()
        number = self._socket.fileno()
        if number < 0:
            raise ClosedResourceError
        self._waiting = loop.create_future()
        loop.add_reader(number, _wake, self._waiting)
        try:
            await self._waiting
        finally:
            self._waiting = None
            if self._socket.fileno() == number:  # else the number may be another's by now
                loop.remove_reader(number)

    async def send(self, item: bytes) -> None:
        try:
            await asyncio.get_running_loop().sock_sendall(self._socket, item)
        except OSError as error:
            raise BrokenResourceError from error

    async def send_eof(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    async def aclose(self) -> None:
        if self._waiting is not None:  # whoever reads hears of it at once
            asyncio.get_running_loop().remove_reader(self._socket.fileno())
            _wake(self._waiting)
        self._socket.close()

    @property
    def is_readable(self) -> bool:
        """Whether a read would bring something at once: bytes, the end, or an error."""
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            return True
        return True


def _wake(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


class PlainNetworkStream(httpcore.AsyncNetworkStream):
    """A connection as httpcore uses it. Most reads need no timer: what is there is taken."""

    def __init__(self, paced: PacedStream) -> None:
        self._paced = paced
        self._stream: ByteStream = paced

    async def read(
        self,
        max_bytes: int,
        timeout: float | None = None,  # noqa: ASYNC109  # as httpcore has it
    ) -> bytes:
        try:
            data = await self._paced.read_paced(max_bytes)
        except BrokenResourceError as error:
            raise httpcore.ReadError(str(error.__cause__)) from None
        return await self._receive(max_bytes, timeout) if data is None else data

    async def write(
        self,
        buffer: bytes,
        timeout: float | None = None,  # noqa: ASYNC109  # as httpcore has it
    ) -> None:
        if buffer:
            with _raise_as(httpcore.WriteTimeout, httpcore.WriteError):
                async with asyncio.timeout(timeout):
                    await self._stream.send(buffer)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  # as httpcore has it
    ) -> httpcore.AsyncNetworkStream:
        try:
            with _raise_as(httpcore.ConnectTimeout, httpcore.ConnectError):
                async with asyncio.timeout(timeout):
                    wrapped = await TLSStream.wrap(
                        self._stream,
                        hostname=server_hostname,
                        ssl_context=ssl_context,
                        standard_compatible=False,
                        server_side=False,
                    )
        except BaseException:
            await self.aclose()
            raise
        return TLSNetworkStream(self._paced, wrapped)

    def get_extra_info(self, info: str) -> Any:
        match info:
            case "ssl_object":
                return self._stream.extra(TLSAttribute.ssl_object, None)  # noqa: S610  # anyio's
            case "is_readable":
                return self._paced.is_readable
            case "paced_stream":
                return self._paced
        return None

    async def _receive(
        self,
        max_bytes: int,
        timeout: float | None,  # noqa: ASYNC109  # as above
    ) -> bytes:
        with _raise_as(httpcore.ReadTimeout, httpcore.ReadError):
            async with asyncio.timeout(timeout):
                try:
                    return await self._stream.receive(max_bytes)
                except EndOfStream:
                    return b""


class TLSNetworkStream(PlainNetworkStream):
    """A record of TLS can be read only when it is whole, but each byte of it is a sign of life."""

    def __init__(self, paced: PacedStream, stream: TLSStream) -> None:
        super().__init__(paced)
        self._stream = stream

    async def read(
        self,
        max_bytes: int,
        timeout: float | None = None,  # noqa: ASYNC109  # as httpcore has it
    ) -> bytes:
        wait = timeout
        while True:
            try:
                return await self._receive(max_bytes, wait)
            except httpcore.ReadTimeout:
                wait = (timeout or 0.0) - self._paced.idle_seconds
                if wait <= 0:
                    raise


@contextmanager
def _raise_as(
    timed_out: type[httpcore.TimeoutException], failed: type[httpcore.NetworkError]
) -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise timed_out(str(error)) from error
    except (BrokenResourceError, ClosedResourceError, EndOfStream, ssl.SSLError) as error:
        raise failed(str(error)) from error


def _seconds_to_next_read() -> float:
    now = asyncio.get_running_loop().time()
    return max(0.0, math.floor((now + READ_INTERVAL_SECONDS) / GRID_SECONDS) * GRID_SECONDS - now)
