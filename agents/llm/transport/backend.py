"""The connections of the HTTP client, which can rest between reads.

People are shown some eight frames a second, but every read of every token costs the same: waking
up, timeouts, framing. While a connection rests, the bytes wait in the socket, where gathering them
is free. httpx asks httpcore for connections, and httpcore lets us make them.

The addresses of people's own endpoints are checked here once more, at the last moment: a name may
resolve otherwise than it did when it was saved. Only an address that was checked is connected to.
"""

import asyncio
import math
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import httpcore
import httpx
from anyio import (
    BrokenResourceError,
    ClosedResourceError,
    EndOfStream,
    TypedAttributeSet,
    typed_attribute,
)
from anyio.abc import ByteStream, SocketAttribute
from httpcore._backends.anyio import AnyIOStream

READ_INTERVAL_SECONDS = 0.08
GRID_SECONDS = 0.02
"""Rests end on this grid, so that what several runs read is committed and shown together."""
FLOOD_BYTES = 4096
"""Bytes in one read from which on there is no rest: more is probably waiting."""
MAX_ADDRESSES = 4
"""Of one host, that are tried."""


Permits = Callable[[str, int, str], bool]
"""Whether this host and port may be reached at this IP address."""
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


class AddressRefused(httpcore.ConnectError):
    """None of a host's addresses may be connected to."""


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
        """What is there after a rest, if anything. Nothing at all is the end."""
        if self.may_delay and not (self._is_flooded or self._has_delayed):
            self._has_delayed = True
            await asyncio.sleep(_seconds_to_next_read())
        return self._receive_now(max_bytes)

    def _receive_now(self, max_bytes: int) -> bytes | None:
        try:
            data = self._socket.recv(max_bytes)
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
    def extra_attributes(self) -> Mapping[Any, Callable[[], Any]]:
        """What streams above this one pass on: that is how `get_paced_stream` finds it."""
        return {
            SocketAttribute.raw_socket: lambda: self._socket,
            _StreamAttribute.paced_stream: lambda: self,
        }


def _wake(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


class _StreamAttribute(TypedAttributeSet):
    paced_stream: PacedStream = typed_attribute()


class _PlainStream(AnyIOStream):
    """Without TLS most reads need no timer: what is there is taken."""

    def __init__(self, paced: PacedStream) -> None:
        super().__init__(paced)
        self._paced = paced

    async def read(
        self,
        max_bytes: int,
        timeout: float | None = None,  # noqa: ASYNC109  # as httpcore has it
    ) -> bytes:
        try:
            data = await self._paced.read_paced(max_bytes)
        except BrokenResourceError as error:
            raise httpcore.ReadError(str(error.__cause__)) from None
        return await super().read(max_bytes, timeout) if data is None else data

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  # as httpcore has it
    ) -> httpcore.AsyncNetworkStream:
        made = await super().start_tls(ssl_context, server_hostname, timeout)
        return _TLSStream(made._stream, self._paced)  # type: ignore[attr-defined]


class _TLSStream(AnyIOStream):
    """A record of TLS can be read only when it is whole, but each byte of it is a sign of life."""

    def __init__(self, stream: ByteStream, paced: PacedStream) -> None:
        super().__init__(stream)
        self._paced = paced

    async def read(
        self,
        max_bytes: int,
        timeout: float | None = None,  # noqa: ASYNC109  # as httpcore has it
    ) -> bytes:
        wait = timeout
        while True:
            try:
                return await super().read(max_bytes, wait)
            except httpcore.ReadTimeout:
                wait = (timeout or 0.0) - self._paced.idle_seconds
                if wait <= 0:
                    raise


class _CheckedBackend(httpcore.AnyIOBackend):
    """Resolves by itself, and connects only to what is permitted. TLS still knows the name."""

    def __init__(self, permits: Permits | None, resolve: Resolve) -> None:
        self._permits = permits
        self._resolve = resolve

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # as httpcore has it
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                connected = await self._connect_first(host, port, timeout)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout(str(error)) from None
        except (OSError, UnicodeError) as error:  # a name that cannot be one
            raise httpcore.ConnectError(str(error)) from None
        for option in ((socket.IPPROTO_TCP, socket.TCP_NODELAY, 1), *(socket_options or ())):
            connected.setsockopt(*option)
        return _PlainStream(PacedStream(connected))

    async def _connect_first(
        self,
        host: str,
        port: int,
        timeout: float | None,  # noqa: ASYNC109  # as above
    ) -> socket.socket:
        """By the first of its addresses that answers; each has its share of the time."""
        addresses = await self._resolve(host, port)
        if self._permits is not None:
            addresses = [one for one in addresses if self._permits(host, port, one)]
        if not addresses:
            raise AddressRefused(host)
        share = None if timeout is None else timeout / len(addresses)
        for address in addresses[:-1]:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(share):
                    return await _connect_address(address, port)
        return await _connect_address(addresses[-1], port)


async def _connect_address(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(made, (address, port))
    except BaseException:
        made.close()
        raise
    return made


async def resolve(host: str, port: int) -> Sequence[str]:
    """The IP addresses of a host, in the order in which the system would try them."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(info[4][0]) for info in found))[:MAX_ADDRESSES]


def get_paced_stream(response: httpx.Response) -> PacedStream | None:
    """What a response is read from, if it came by a connection of ours."""
    stream = getattr(response.extensions.get("network_stream"), "_stream", None)
    if not isinstance(stream, ByteStream):
        return None
    found: PacedStream | None = stream.extra(_StreamAttribute.paced_stream, None)  # noqa: S610  # anyio's
    return found


def install_network_backend(
    client: httpx.AsyncClient, permits: Permits | None = None, resolve: Resolve = resolve
) -> None:
    """Let a client connect by us, only where it is permitted, if that is said.

    httpx and httpcore have no names for this: tests tell when it changes.
    """
    backend = _CheckedBackend(permits, resolve)
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx.AsyncHTTPTransport):
            transport._pool._network_backend = backend


def _seconds_to_next_read() -> float:
    now = asyncio.get_running_loop().time()
    return max(0.0, math.floor((now + READ_INTERVAL_SECONDS) / GRID_SECONDS) * GRID_SECONDS - now)
