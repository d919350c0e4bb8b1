"""Connect to the hosts of endpoints, only where that is permitted.

The addresses of people's own endpoints are checked here once more, at the last moment: a name may
resolve differently than when it was saved. Only an address that was checked is connected to.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import httpcore

from agents.llm.transport.lookups import MAX_ADDRESSES
from agents.llm.transport.pacing import PacedStream, PlainNetworkStream

Permits = Callable[[str, int, str], bool]
"""Whether this host and port may be reached at this IP address."""
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


class AddressRefused(httpcore.ConnectError):
    """None of a host's addresses may be connected to."""


class CheckedBackend(httpcore.AsyncNetworkBackend):
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
        return PlainNetworkStream(PacedStream(connected))

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _connect_first(
        self,
        host: str,
        port: int,
        timeout: float | None,  # noqa: ASYNC109  # as above
    ) -> socket.socket:
        """Connect to the first of its addresses that answers; each has its share of the time."""
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


async def resolve_for_site(host: str, port: int) -> Sequence[str]:
    """Return the IP addresses of a host of the site's settings, by a thread of the event loop."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(info[4][0]) for info in found))[:MAX_ADDRESSES]
