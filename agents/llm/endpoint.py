"""One address that answers chat completions: the HTTP of it, with every failure made typed."""

import logging
import re
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, suppress
from typing import cast

import httpx

from agents.core.ports import Clock
from agents.core.tokens import truncate_middle
from agents.llm.error_mapping import Options, error_for_response
from agents.llm.errors import (
    BadResponse,
    BrokenStream,
    EndpointError,
    IdleTimeout,
    KeyRefused,
    NotAnApi,
    Overloaded,
    TimedOut,
    Unreachable,
    WrongAddress,
)
from agents.llm.retry import parse_retry_after
from agents.llm.transport.backend import AddressRefused
from agents.llm.transport.lookups import LookupRefused, LookupsBusy, LookupTimedOut

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 10.0
DEADLINE_SLACK_SECONDS = 5.0
MAX_PORT = 65_535
MAX_REFUSAL_BYTES = 1 << 16
MAX_BODY_BYTES = 1 << 24
MAX_QUOTE_LENGTH = 300
REDACTED = "[hidden]"
_SECRETS = re.compile(r"(?:sk-|bearer )[^\s'\"]+", re.IGNORECASE)
DECOMPRESS_CHUNK_BYTES = 1 << 16
"""Bytes that are unpacked at once."""


class EndpointClient:
    def __init__(
        self, client: httpx.AsyncClient, base_url: str, api_key: str, clock: Clock
    ) -> None:
        self._client = client
        self._clock = clock
        self._url = _build_url(base_url, "/chat/completions")
        self._models_url = _build_url(base_url, "/models")
        self._key = api_key.strip()
        self._headers = _build_headers(api_key)
        self.host = self._url.host if self._url else ""
        self._netloc = self._url.netloc.decode().rpartition("@")[2] if self._url else ""

    def post(
        self, body: bytes, options: Options, seconds: float, silence: float
    ) -> AbstractAsyncContextManager[httpx.Response]:
        """Send a request; the response inside is an answer. Only EndpointErrors leave this.

        A model may write for as long as its reader has time, `seconds`, but not be without a sign
        of life for longer than `silence`. The reader's own deadline comes first, so that a run
        out of time is not taken for an endpoint that failed.
        """
        wait = silence if silence < seconds else max(0.0, seconds) + DEADLINE_SLACK_SECONDS
        return self._send("POST", self._url, body, options, wait)

    def is_safe_to_show(self, name: str) -> bool:
        """Return whether something that the endpoint wrote is free of the key that it was sent."""
        return not (self._key and self._key in name)

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
        silence: float,
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
                timeout=httpx.Timeout(silence, connect=min(silence, CONNECT_SECONDS)),
            ) as response:
                began = True
                await self._raise_for_status(response, options)
                yield response
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._map_error(error, silence, began=began) from None

    async def _raise_for_status(self, response: httpx.Response, options: Options) -> None:
        if not response.is_success:
            wait = parse_retry_after(response.headers, self._clock.time())
            body = b""
            with suppress(httpx.HTTPError):
                body = await read_limited(MAX_REFUSAL_BYTES, response)
            error = error_for_response(response.status_code, body, wait, options)
            log_refusal(response, error)
            raise error
        if content_type(response) == "text/html":
            raise NotAnApi

    def _map_error(self, error: Exception, silence: float, *, began: bool) -> EndpointError:
        match error:
            case httpx.InvalidURL() | httpx.UnsupportedProtocol():
                return WrongAddress()
            case httpx.PoolTimeout():
                return Overloaded("Too many answers are being written at the moment. Try again.")
            case httpx.ConnectTimeout(__cause__=LookupTimedOut()):
                return TimedOut(
                    f"The name of {self._netloc} was not resolved in time. "
                    "Check the base URL, or try again."
                )
            case httpx.ConnectTimeout():
                return TimedOut(
                    f"{self._netloc} did not accept a connection in time. "
                    "Check the base URL and the network, or try again."
                )
            case httpx.TimeoutException():
                return IdleTimeout(silence)
            case httpx.ConnectError(__cause__=AddressRefused()):
                return WrongAddress(
                    f"{self._netloc} leads to an address that people may not use here. Use a "
                    "public address, or ask an administrator to allow this one "
                    "(ORACLE_INSIDE_ENDPOINTS)."
                )
            case httpx.ConnectError(__cause__=LookupsBusy()):
                return Overloaded(
                    f"Cannot look up {self._netloc}: all lookups of host names are busy. "
                    "Try again in a minute."
                )
            case httpx.ConnectError(__cause__=LookupRefused()):
                return Overloaded(
                    f"Cannot look up {self._netloc}: your earlier lookups of host names have not "
                    "finished. Check your base URLs, and try again in a minute."
                )
            case httpx.ConnectError():
                return Unreachable(
                    f"Cannot connect to {self._netloc}. "
                    "Check that it is running, the base URL, and the network."
                )
            case httpx.NetworkError() | httpx.RemoteProtocolError() if not began:
                return BrokenStream(
                    f"{self._netloc} closed the connection without an answer. "
                    "Check that the base URL is that of a model endpoint, or try again."
                )
            case httpx.NetworkError() | httpx.RemoteProtocolError():
                return BrokenStream()
            case httpx.DecodingError():
                return BadResponse()
        return Unreachable()


def log_refusal(response: httpx.Response, error: EndpointError) -> None:
    """Write down what our sentence about it leaves out: a little of what the endpoint said."""
    key = response.request.headers.get("authorization", "").removeprefix("Bearer ")
    logger.warning(
        "%s answered %d (%s), request id %r: %r",
        response.request.url.host,
        response.status_code,
        error.code,
        response.headers.get("x-request-id", "")[:100],
        "" if isinstance(error, KeyRefused) else _redact(error.detail, key),
    )


def _redact(detail: str, key: str) -> str:
    """Return the beginning, without what is secret or looks like it."""
    if key:
        detail = detail.replace(key, REDACTED)
    return truncate_middle(_SECRETS.sub(REDACTED, detail), MAX_QUOTE_LENGTH)


def content_type(response: httpx.Response) -> str:
    header: str = response.headers.get("content-type", "")
    return header.partition(";")[0].strip().lower()


def iter_body(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    """Yield the body as it arrives, unpacked if it is packed although nobody asked for that."""
    # httpx declares less than it returns; a generator that is left early wants to be closed.
    reads = cast(AsyncGenerator[bytes, None], response.aiter_raw())
    packing = response.headers.get("content-encoding", "identity").strip().lower()
    return reads if packing == "identity" else _decompress(reads, packing)


async def _decompress(
    reads: AsyncGenerator[bytes, None], packing: str
) -> AsyncGenerator[bytes, None]:
    """Unpack little by little: a few bytes may stand for more than fits into memory."""
    if packing not in ("gzip", "deflate"):
        raise BadResponse
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)  # either of them, by its first bytes
    async with aclosing(reads):
        async for data in reads:
            while data and not unpacker.eof:
                try:
                    piece = unpacker.decompress(data, DECOMPRESS_CHUNK_BYTES)
                except zlib.error:
                    raise BadResponse from None
                data = unpacker.unconsumed_tail
                yield piece


async def read_body(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    """Yield the body as one piece."""
    body = await read_limited(MAX_BODY_BYTES, response)
    if len(body) > MAX_BODY_BYTES:
        raise BadResponse
    yield body


async def read_limited(limit: int, response: httpx.Response) -> bytes:
    """Return the body, or a little more of it than `limit`."""
    body = bytearray()
    async with aclosing(iter_body(response)) as reads:
        async for data in reads:
            body += data
            if len(body) > limit:
                break
    return bytes(body)


def _build_url(base_url: str, path: str) -> httpx.URL | None:
    try:
        url = httpx.URL(base_url.strip().rstrip("/") + path)
    except httpx.InvalidURL:
        return None
    if url.scheme not in ("http", "https") or not url.host or (url.port or 0) > MAX_PORT:
        return None
    return url


def _build_headers(api_key: str) -> Mapping[str, str] | None:
    """Build the headers; None if the key cannot be sent in one."""
    key = api_key.strip()
    if not (key.isascii() and key.isprintable()):
        return None
    headers = {
        "accept": "text/event-stream, application/json",
        "accept-encoding": "identity",
        "content-type": "application/json",
    }
    return {**headers, "authorization": f"Bearer {key}"} if key else headers
