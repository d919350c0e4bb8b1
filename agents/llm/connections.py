"""The connections of the HTTP client, which can rest between reads.

People are shown some eight frames a second, but every read of every token costs the same: waking
up, timeouts, framing. While a connection rests, the bytes wait in the socket, where gathering them
is free. httpx asks httpcore for connections, and httpcore lets us make them.
"""

import asyncio
import math
import ssl
from typing import Any

import httpcore
import httpx

REST_SECONDS = 0.08
GRID_SECONDS = 0.02
"""Rests end on this grid, so that what several runs read is committed and shown together."""
FLOOD = 4096
"""Bytes in one read from which on there is no rest: more is probably waiting."""


class Resting(httpcore.AsyncNetworkStream):
    """A connection that can rest before it reads."""

    def __init__(self, connection: httpcore.AsyncNetworkStream) -> None:
        self._connection = connection
        self._is_flooded = False
        self.may_rest = False
        """Whether what comes next may be read a little later."""

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109  # as httpcore has it
        if self.may_rest and not self._is_flooded:
            await asyncio.sleep(_until_next_read())
        data = await self._connection.read(max_bytes, timeout)
        self._is_flooded = len(data) >= FLOOD
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109  # as httpcore has it
        await self._connection.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._connection.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  # as httpcore has it
    ) -> httpcore.AsyncNetworkStream:
        return Resting(await self._connection.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._connection.get_extra_info(info)


class _Backend(httpcore.AnyIOBackend):
    async def connect_tcp(self, *args: Any, **options: Any) -> httpcore.AsyncNetworkStream:
        return Resting(await super().connect_tcp(*args, **options))


def rest(response: httpx.Response, *, may_rest: bool) -> None:
    """Let the next read of a response wait for company, or not."""
    connection = response.extensions.get("network_stream")
    if isinstance(connection, Resting):
        connection.may_rest = may_rest


def use_ours(client: httpx.AsyncClient) -> None:
    """Let a client connect by us. httpx has no name for this: a test tells when it changes."""
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx.AsyncHTTPTransport):
            transport._pool._network_backend = _Backend()


def _until_next_read() -> float:
    now = asyncio.get_running_loop().time()
    return max(0.0, math.floor((now + REST_SECONDS) / GRID_SECONDS) * GRID_SECONDS - now)
