"""The transport of our HTTP clients: a pool of httpcore's whose connections we make ourselves.

httpx has no way to say how connections are made; httpcore has (`network_backend`). So this is what
httpx's own transport is, over a pool that was given ours.
"""

import ssl
from collections.abc import AsyncGenerator, AsyncIterable
from importlib import import_module
from types import TracebackType
from typing import Self, cast

import httpcore
import httpx

from agents.llm.transport.pacing import PacedStream

_HTTPX_ERRORS: dict[type[Exception], type[httpx.TransportError]] = {
    httpcore.ConnectTimeout: httpx.ConnectTimeout,
    httpcore.ReadTimeout: httpx.ReadTimeout,
    httpcore.WriteTimeout: httpx.WriteTimeout,
    httpcore.PoolTimeout: httpx.PoolTimeout,
    httpcore.TimeoutException: httpx.TimeoutException,
    httpcore.ConnectError: httpx.ConnectError,
    httpcore.ReadError: httpx.ReadError,
    httpcore.WriteError: httpx.WriteError,
    httpcore.NetworkError: httpx.NetworkError,
    httpcore.ProxyError: httpx.ProxyError,
    httpcore.UnsupportedProtocol: httpx.UnsupportedProtocol,
    httpcore.LocalProtocolError: httpx.LocalProtocolError,
    httpcore.RemoteProtocolError: httpx.RemoteProtocolError,
    httpcore.ProtocolError: httpx.ProtocolError,
}
_CORE_ERRORS = tuple(_HTTPX_ERRORS)


class PoolTransport(httpx.AsyncBaseTransport):
    """Sends requests over connections that `backend` makes, through a proxy if there is one."""

    def __init__(
        self,
        backend: httpcore.AsyncNetworkBackend,
        ssl_context: ssl.SSLContext,
        limits: httpx.Limits,
        proxy: httpx.Proxy | None = None,
    ) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=ssl_context,
            proxy=_to_core_proxy(proxy) if proxy is not None else None,
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=backend,
        )

    async def __aenter__(self) -> Self:
        await self._pool.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        await self._pool.__aexit__(exc_type, exc_value, traceback)

    async def aclose(self) -> None:
        await self._pool.aclose()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        sent = httpcore.Request(
            method=request.method,
            url=_to_core_url(request.url),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        try:
            got = await self._pool.handle_async_request(sent)
        except _CORE_ERRORS as error:
            raise _to_httpx_error(error) from error
        return httpx.Response(
            status_code=got.status,
            headers=got.headers,
            stream=_BodyStream(got),
            extensions=got.extensions,
        )


class _BodyStream(httpx.AsyncByteStream):
    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        try:
            async for data in cast(AsyncIterable[bytes], self._response.stream):
                yield data
        except _CORE_ERRORS as error:
            raise _to_httpx_error(error) from error

    async def aclose(self) -> None:
        await self._response.aclose()


def get_paced_stream(response: httpx.Response) -> PacedStream | None:
    """Return what a response is read from, if it came by a connection of ours."""
    stream = response.extensions.get("network_stream")
    found: PacedStream | None = stream and stream.get_extra_info("paced_stream")
    return found


def _to_httpx_error(error: Exception) -> httpx.TransportError:
    mapped = next(_HTTPX_ERRORS[kind] for kind in type(error).__mro__ if kind in _HTTPX_ERRORS)
    return mapped(str(error))


def _to_core_url(url: httpx.URL) -> httpcore.URL:
    return httpcore.URL(
        scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
    )


def _to_core_proxy(proxy: httpx.Proxy) -> httpcore.Proxy:
    if proxy.url.scheme.startswith("socks"):
        import_module("socksio")  # httpcore would miss it only when somebody asks
    return httpcore.Proxy(_to_core_url(proxy.url), auth=proxy.raw_auth)
