"""Reads pages of the web that an administrator allows, however their servers behave.

Each page is asked for with a client of its own: nothing is shared between people, neither cookies
nor connections. Names are resolved once, and only an address that was checked is connected to.
"""

import asyncio
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from urllib.parse import urljoin

import httpx

from agents.core.ports import Service
from agents.llm import (
    AddressRefused,
    EndpointPolicy,
    LookupRefused,
    LookupsBusy,
    LookupTimedOut,
    Resolve,
    build_http_client,
)
from agents.tools.definition import ToolFailed, ToolRefused
from agents.tools.page_reading import FetchedPage, parse_content_type
from agents.tools.web_hosts import INTERNET_ONLY, PageUrl, WebHosts, WebNotAllowed

MAX_BYTES = 2_000_000
"""Of a page, as it comes and unpacked."""
MAX_SECONDS = 20.0
MAX_REDIRECTS = 3
HEADERS = {
    "accept": "text/html, application/xhtml+xml, text/plain, text/markdown, application/json;q=0.9",
    "accept-encoding": "gzip, deflate",
    "user-agent": "Oracle (web_fetch)",
}


class WebPages(Service):
    """Fetches pages of the hosts that are allowed. `policy` says at which addresses."""

    def __init__(
        self,
        hosts: WebHosts,
        policy: EndpointPolicy = INTERNET_ONLY,
        resolve: Resolve | None = None,
        seconds: float = MAX_SECONDS,
    ) -> None:
        self._hosts = hosts
        self._policy = policy
        self._resolve = resolve
        self._seconds = seconds

    async def fetch(self, url: str) -> FetchedPage:
        """Return a page; ToolRefused or ToolFailed says why it was not read."""
        try:
            async with (
                asyncio.timeout(self._seconds),
                build_http_client(permits=self._policy.permits, resolve=self._resolve) as client,
            ):
                return await self._follow(client, url)
        except TimeoutError:
            raise ToolFailed(
                f"The page did not arrive within {self._seconds:g} s. Do without it."
            ) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ToolFailed(_describe_error(error)) from None

    async def _follow(self, client: httpx.AsyncClient, url: str) -> FetchedPage:
        for _ in range(MAX_REDIRECTS + 1):
            page = self._check(url)
            async with _open(client, page) as response:
                if not response.has_redirect_location:
                    return await _read(response, page)
                url = _join(page.url, response.headers["location"])
        raise ToolFailed(f"The page leads elsewhere more than {MAX_REDIRECTS} times.")

    def _check(self, url: str) -> PageUrl:
        try:
            return self._hosts.check(url, self._policy)
        except WebNotAllowed as error:
            raise ToolRefused(str(error)) from None


@asynccontextmanager
async def _open(client: httpx.AsyncClient, page: PageUrl) -> AsyncIterator[httpx.Response]:
    request = httpx.Request("GET", page.url, headers=HEADERS)
    response = await client.send(request, stream=True)
    try:
        yield response
    finally:
        await response.aclose()


def _describe_error(error: Exception) -> str:
    if isinstance(error.__cause__, AddressRefused):
        return "The page cannot be read: its host has no address on the internet."
    if isinstance(error.__cause__, LookupTimedOut):
        return "The page cannot be read: the name of its host was not resolved in time."
    if isinstance(error.__cause__, LookupsBusy):
        return "The page cannot be read: all lookups of names are busy. Try it later."
    if isinstance(error.__cause__, LookupRefused):
        return "The page cannot be read: earlier lookups of names have not finished. Try it later."
    if isinstance(error, httpx.ConnectError | httpx.TimeoutException):
        return "The page cannot be read: its server does not answer."
    return "The page cannot be read: its server does not answer as a web server does."


def _join(url: str, location: str) -> str:
    try:
        return urljoin(url, location.strip())
    except ValueError:
        return location


# -- reading --------------------------------------------------------------------------------------


async def _read(response: httpx.Response, page: PageUrl) -> FetchedPage:
    if response.status_code != HTTPStatus.OK:
        raise ToolFailed(f"The server answered {response.status_code} {_phrase(response)}.")
    declared = response.headers.get("content-type", "")
    content_type = parse_content_type(declared)
    if not _is_text(content_type):
        raise ToolFailed(
            f"The page is {content_type or 'of a kind that its server does not say'}. "
            "Only HTML, plain text, Markdown and JSON are read."
        )
    body = await _read_body(response)
    return FetchedPage(page.url, declared, body)


def _phrase(response: httpx.Response) -> str:
    try:
        return HTTPStatus(response.status_code).phrase
    except ValueError:
        return ""


def _is_text(content_type: str) -> bool:
    kinds = ("text/html", "application/xhtml+xml", "text/plain", "application/json")
    return content_type in (*kinds, "text/markdown", "text/x-markdown") or (
        content_type.startswith("application/") and content_type.endswith("+json")
    )


async def _read_body(response: httpx.Response) -> bytes:
    """Return the body, unpacked. No more is unpacked than may be read."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    unpacker = _build_unpacker(encoding)
    received, body = 0, bytearray()
    async for data in response.aiter_raw():
        received += len(data)
        body += unpacker.unpack(data, MAX_BYTES + 1 - len(body))
        if max(received, len(body)) > MAX_BYTES:
            raise ToolFailed(f"The page is larger than {MAX_BYTES / 1e6:g} MB, and was not read.")
    if not unpacker.is_complete():
        raise ToolFailed("The page was cut off on its way.")
    return bytes(body)


class _Unpacker:
    """Takes what comes as it is."""

    def unpack(self, data: bytes, max_length: int) -> bytes:
        return data

    def is_complete(self) -> bool:
        return True


class _ZlibUnpacker(_Unpacker):
    """Unpacks gzip and deflate, the latter with its header or, as some servers do, without."""

    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(zlib.MAX_WBITS | 32)
        self._is_first = True

    def is_complete(self) -> bool:
        return self._decoder.eof or self._is_first

    def unpack(self, data: bytes, max_length: int) -> bytes:
        try:
            return self._unpack(data, max_length)
        except zlib.error:
            raise ToolFailed("The page is packed, and cannot be unpacked.") from None

    def _unpack(self, data: bytes, max_length: int) -> bytes:
        if not self._is_first:
            return self._decoder.decompress(data, max_length)
        self._is_first = False
        try:
            return self._decoder.decompress(data, max_length)
        except zlib.error:
            self._decoder = zlib.decompressobj(-zlib.MAX_WBITS)
            return self._decoder.decompress(data, max_length)


def _build_unpacker(encoding: str) -> _Unpacker:
    match encoding:
        case "" | "identity":
            return _Unpacker()
        case "gzip" | "x-gzip" | "deflate":
            return _ZlibUnpacker()
    raise ToolFailed("The page is packed in a way that was not asked for, and is not read.")
