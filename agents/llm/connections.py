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
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import httpcore
import httpx
from anyio import TypedAttributeSet, typed_attribute
from anyio.abc import ByteStream

REST_SECONDS = 0.08
GRID_SECONDS = 0.02
"""Rests end on this grid, so that what several runs read is committed and shown together."""
FLOOD = 4096
"""Bytes in one read from which on there is no rest: more is probably waiting."""
MOST_ADDRESSES = 4
"""Of one host, that are tried."""


Permits = Callable[[str, int, str], bool]
"""Whether this host and port may be reached at this IP address."""
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


class Refused(httpcore.ConnectError):
    """None of a host's addresses may be connected to."""


class Sips(ByteStream):
    """A socket that can rest before it is read: below TLS, whose records are small."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._is_flooded = False
        self.may_rest = False
        """Whether what comes next may be read a little later."""

    async def receive(self, max_bytes: int = 65_536) -> bytes:
        if self.may_rest and not self._is_flooded:
            await asyncio.sleep(_until_next_read())
        data = await self._stream.receive(max_bytes)
        self._is_flooded = len(data) >= FLOOD
        return data

    async def send(self, item: bytes) -> None:
        await self._stream.send(item)

    async def send_eof(self) -> None:
        await self._stream.send_eof()

    async def aclose(self) -> None:
        await self._stream.aclose()

    @property
    def extra_attributes(self) -> Mapping[Any, Callable[[], Any]]:
        """What streams above this one pass on: that is how `rest` finds it."""
        return {**self._stream.extra_attributes, _Found.sips: lambda: self}


class _Found(TypedAttributeSet):
    sips: Sips = typed_attribute()


class _Backend(httpcore.AnyIOBackend):
    async def connect_tcp(self, *args: Any, **options: Any) -> httpcore.AsyncNetworkStream:
        connection = await super().connect_tcp(*args, **options)
        connection._stream = Sips(connection._stream)  # type: ignore[attr-defined]
        return connection


class _Guard(_Backend):
    """Resolves by itself, and connects only to what is permitted. TLS still knows the name."""

    def __init__(self, permits: Permits, resolve: Resolve) -> None:
        self._permits = permits
        self._resolve = resolve

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # as httpcore has it
        *args: Any,
        **options: Any,
    ) -> httpcore.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                addresses = await self._resolve(host, port)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout(str(error)) from None
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from None
        permitted = [one for one in addresses if self._permits(host, port, one)]
        if not permitted:
            raise Refused(host)
        return await self._connect_to_one_of(permitted, port, timeout, *args, **options)

    async def _connect_to_one_of(
        self, addresses: Sequence[str], *args: Any, **options: Any
    ) -> httpcore.AsyncNetworkStream:
        for address in addresses[:-1]:
            try:
                return await super().connect_tcp(address, *args, **options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await super().connect_tcp(addresses[-1], *args, **options)


async def resolve(host: str, port: int) -> Sequence[str]:
    """The IP addresses of a host, in the order in which the system would try them."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(info[4][0]) for info in found))[:MOST_ADDRESSES]


def rest(response: httpx.Response, *, may_rest: bool) -> None:
    """Let the next read of a response wait for company, or not."""
    stream = getattr(response.extensions.get("network_stream"), "_stream", None)
    if isinstance(stream, ByteStream) and (sips := stream.extra(_Found.sips, None)):  # noqa: S610  # anyio's
        sips.may_rest = may_rest


def use_ours(
    client: httpx.AsyncClient, permits: Permits | None = None, resolve: Resolve = resolve
) -> None:
    """Let a client connect by us, only where it is permitted, if that is said.

    httpx and httpcore have no names for this: tests tell when it changes.
    """
    backend = _Guard(permits, resolve) if permits else _Backend()
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx.AsyncHTTPTransport):
            transport._pool._network_backend = backend


def _until_next_read() -> float:
    now = asyncio.get_running_loop().time()
    return max(0.0, math.floor((now + REST_SECONDS) / GRID_SECONDS) * GRID_SECONDS - now)
