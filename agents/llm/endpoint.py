"""One address that answers chat completions: the HTTP of it, with every failure made typed."""

import logging
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, suppress
from typing import cast

import httpx

from agents.core.ports import Clock
from agents.llm.classify import Options, refusal
from agents.llm.connections import Refused
from agents.llm.errors import (
    BadResponse,
    BrokenStream,
    EndpointError,
    KeyRefused,
    NotAnApi,
    Overloaded,
    TimedOut,
    Unreachable,
    WrongAddress,
)
from agents.llm.retry import retry_after

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 10.0
PATIENCE = 5.0
HIGHEST_PORT = 65_535
LONGEST_REFUSAL = 1 << 16
LONGEST_BODY = 1 << 24
UNPACKED = 1 << 16
"""Bytes that are unpacked at once."""


class Endpoint:
    def __init__(
        self, client: httpx.AsyncClient, base_url: str, api_key: str, clock: Clock
    ) -> None:
        self._client = client
        self._clock = clock
        self._url = _url(base_url, "/chat/completions")
        self._models_url = _url(base_url, "/models")
        self._headers = _headers(api_key)
        self.host = self._url.host if self._url else ""
        self._place = self._url.netloc.decode().rpartition("@")[2] if self._url else ""

    def post(
        self, body: bytes, options: Options, seconds: float
    ) -> AbstractAsyncContextManager[httpx.Response]:
        """Send a request; the response inside is an answer. Only EndpointErrors leave this.

        A model may think for as long as its reader has time: `seconds`. The reader's own deadline
        comes first, so that a run out of time is not taken for an endpoint that failed.
        """
        return self._send("POST", self._url, body, options, seconds)

    def get_models(self, seconds: float) -> AbstractAsyncContextManager[httpx.Response]:
        """Ask which models there are; the response inside is an answer."""
        return self._send("GET", self._models_url, None, {}, seconds)

    @asynccontextmanager
    async def _send(
        self,
        method: str,
        url: httpx.URL | None,
        body: bytes | None,
        options: Options,
        seconds: float,
    ) -> AsyncIterator[httpx.Response]:
        if url is None:
            raise WrongAddress
        if self._headers is None:
            raise KeyRefused
        began = False
        try:
            async with self._client.stream(
                method,
                url,
                content=body,
                headers=self._headers,
                timeout=httpx.Timeout(max(0.0, seconds) + PATIENCE, connect=CONNECT_SECONDS),
            ) as response:
                began = True
                await self._refuse_others(response, options)
                yield response
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._translated(error, began=began) from None

    async def _refuse_others(self, response: httpx.Response, options: Options) -> None:
        if not response.is_success:
            wait = retry_after(response.headers, self._clock.time())
            body = b""
            with suppress(httpx.HTTPError):
                body = await up_to(LONGEST_REFUSAL, response)
            error = refusal(response.status_code, body, wait, options)
            request_id = response.headers.get("x-request-id", "")[:100]
            logger.warning(
                "%s answered %d (%s), request id %r",
                self.host,
                response.status_code,
                error.code,
                request_id,
            )
            raise error
        if content_type(response) == "text/html":
            raise NotAnApi

    def _translated(self, error: Exception, *, began: bool) -> EndpointError:
        match error:
            case httpx.InvalidURL() | httpx.UnsupportedProtocol():
                return WrongAddress()
            case httpx.PoolTimeout():
                return Overloaded("Too many answers are being written at the moment. Try again.")
            case httpx.ConnectTimeout():
                return TimedOut(
                    f"{self._place} did not accept a connection in time. "
                    "Check the base URL and the network, or try again."
                )
            case httpx.TimeoutException():
                return TimedOut()
            case httpx.ConnectError(__cause__=Refused()):
                return WrongAddress(
                    f"{self._place} leads to an address that people may not use here. Use a "
                    "public address, or ask an administrator to allow this one "
                    "(ORACLE_INSIDE_ENDPOINTS)."
                )
            case httpx.ConnectError():
                return Unreachable(
                    f"Cannot connect to {self._place}. "
                    "Check that it is running, the base URL, and the network."
                )
            case httpx.NetworkError() | httpx.RemoteProtocolError() if not began:
                return BrokenStream(
                    f"{self._place} closed the connection without an answer. "
                    "Check that the base URL is that of a model endpoint, or try again."
                )
            case httpx.NetworkError() | httpx.RemoteProtocolError():
                return BrokenStream()
            case httpx.DecodingError():
                return BadResponse()
        return Unreachable()


def content_type(response: httpx.Response) -> str:
    header: str = response.headers.get("content-type", "")
    return header.partition(";")[0].strip().lower()


def pieces(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    """The body as it arrives, unpacked if it is packed although nobody asked for that."""
    # httpx declares less than it returns; a generator that is left early wants to be closed.
    reads = cast(AsyncGenerator[bytes, None], response.aiter_raw())
    packing = response.headers.get("content-encoding", "identity").strip().lower()
    return reads if packing == "identity" else _unpacked(reads, packing)


async def _unpacked(
    reads: AsyncGenerator[bytes, None], packing: str
) -> AsyncGenerator[bytes, None]:
    """Little by little: a few packed bytes may stand for more than fits into memory."""
    if packing not in ("gzip", "deflate"):
        raise BadResponse
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)  # either of them, by its first bytes
    async with aclosing(reads):
        async for data in reads:
            while data and not unpacker.eof:
                try:
                    piece = unpacker.decompress(data, UNPACKED)
                except zlib.error:
                    raise BadResponse from None
                data = unpacker.unconsumed_tail
                yield piece


async def whole(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    """The body as one piece."""
    body = await up_to(LONGEST_BODY, response)
    if len(body) > LONGEST_BODY:
        raise BadResponse
    yield body


async def up_to(limit: int, response: httpx.Response) -> bytes:
    """The body, or a little more of it than `limit`."""
    body = bytearray()
    async with aclosing(pieces(response)) as reads:
        async for data in reads:
            body += data
            if len(body) > limit:
                break
    return bytes(body)


def _url(base_url: str, path: str) -> httpx.URL | None:
    try:
        url = httpx.URL(base_url.strip().rstrip("/") + path)
    except httpx.InvalidURL:
        return None
    if url.scheme not in ("http", "https") or not url.host or (url.port or 0) > HIGHEST_PORT:
        return None
    return url


def _headers(api_key: str) -> Mapping[str, str] | None:
    """None if the key cannot be sent in a header."""
    key = api_key.strip()
    if not (key.isascii() and key.isprintable()):
        return None
    headers = {
        "accept": "text/event-stream, application/json",
        "accept-encoding": "identity",
        "content-type": "application/json",
    }
    return {**headers, "authorization": f"Bearer {key}"} if key else headers
