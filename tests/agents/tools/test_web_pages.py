"""Pages of servers that mean well, and of those that do not: read, or refused in a sentence."""

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from agents.llm import build_policy
from agents.tools.definition import ToolFailed, ToolRefused
from agents.tools.web_hosts import INTERNET_ONLY, WebHosts
from agents.tools.web_pages import MAX_BYTES, WebPages
from tests.agents.tools.test_web_hosts import ELSEWHERE, INSIDE
from tests.support.timing import PATIENCE
from tests.support.web_server import HOST, Answer, WebServer, page, redirect

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n"


async def fetch(answer: Answer, seconds: float = PATIENCE) -> str:
    """The text of a page that is answered so."""
    async with WebServer({"/": answer}) as server:
        return (await server.pages(seconds=seconds).fetch(server.url())).text


async def test_a_page_is_read_as_its_server_gives_it_and_nothing_is_told_to_the_server() -> None:
    async with WebServer({"/a?b=c": page("<p>Hello")}) as server:
        fetched = await server.pages().fetch(server.url("/a?b=c#d"))
        assert (fetched.url, fetched.text) == (server.url("/a?b=c"), "<p>Hello")
        assert fetched.is_html
        (head,) = server.requests
    names = {line.split(b":")[0].lower() for line in head.split(b"\r\n")[1:] if line}
    assert names == {b"host", b"accept", b"accept-encoding", b"user-agent"}


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "text/markdown; charset=utf-8",
        "application/json",
        "application/ld+json",
        "TEXT/HTML;x=y",
        "application/xhtml+xml",
    ],
)
async def test_texts_are_read(content_type: str) -> None:
    assert await fetch(page("{}", content_type)) == "{}"


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "image/png",
        "application/octet-stream",
        "text/css",
        "application/pdf",
        "nonsense",
        "a/b/c",
    ],
)
async def test_anything_else_is_refused_with_its_kind(content_type: str) -> None:
    with pytest.raises(ToolFailed, match="Only HTML, plain text, Markdown and JSON"):
        await fetch(page("x", content_type))


@pytest.mark.parametrize(
    "status", ["404 Not Found", "500 No", "204 No Content", "599 ?", "304 Not"]
)
async def test_an_error_of_the_server_is_told_by_its_number(status: str) -> None:
    with pytest.raises(ToolFailed, match=f"answered {status[:3]}"):
        await fetch(f"HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n".encode())


# -- sizes, times, bombs --------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "deflate"])
async def test_packed_pages_are_unpacked(encoding: str) -> None:
    packed = gzip.compress(b"Hello") if "gzip" in encoding else zlib.compress(b"Hello")
    assert await fetch(page(packed, content_encoding=encoding)) == "Hello"
    assert await fetch(page(b"", content_encoding=encoding)) == ""


async def test_deflate_is_also_read_without_its_header() -> None:
    raw = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    data = raw.compress(b"Hello") + raw.flush()
    assert await fetch(page(data, content_encoding="deflate")) == "Hello"


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
async def test_a_bomb_is_not_unpacked(pack: Callable[[bytes], bytes]) -> None:
    bomb = pack(bytes(30 * MAX_BYTES))
    assert len(bomb) < MAX_BYTES / 20
    with pytest.raises(ToolFailed, match="larger than 2 MB"):
        await fetch(page(bomb, content_encoding="gzip" if pack is gzip.compress else "deflate"))


@pytest.mark.parametrize(
    "encoding", ["br", "zstd", "gzip, gzip", "gzip, br", "compress", "nonsense"]
)
async def test_what_is_packed_in_another_way_or_twice_is_not_read(encoding: str) -> None:
    with pytest.raises(ToolFailed, match="packed in a way that was not asked for"):
        await fetch(page(gzip.compress(gzip.compress(b"x" * 100)), content_encoding=encoding))


@pytest.mark.parametrize(
    "data",
    [b"no gzip at all", gzip.compress(b"Hello" * 99)[:-9], b"\x1f\x8b"],
    ids=["not packed", "cut off", "begun"],  # gzip writes the time
)
async def test_what_is_packed_badly_or_cut_off_is_refused(data: bytes) -> None:
    with pytest.raises(ToolFailed, match=r"cannot be unpacked|cut off"):
        await fetch(page(data, content_encoding="gzip"))


@pytest.mark.parametrize("size", [MAX_BYTES, MAX_BYTES + 1])
async def test_a_page_of_the_largest_size_is_read_and_a_larger_one_is_not(size: int) -> None:
    if size == MAX_BYTES:
        assert len(await fetch(page(b"x" * size))) == size
        return
    with pytest.raises(ToolFailed, match="larger than 2 MB"):
        await fetch(page(b"x" * size))


async def _endless() -> AsyncIterator[bytes]:
    yield HEAD + b"\r\n"
    while True:
        yield b"<p>again</p>" * 5_000


async def _endless_packed() -> AsyncIterator[bytes]:
    """Nothing comes of it, for ever: empty blocks."""
    yield HEAD + b"content-encoding: gzip\r\n\r\n" + gzip.compress(b"")
    while True:
        yield bytes(65_536)


async def _endless_head() -> AsyncIterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\n"
    while True:
        yield b"x-again: " + b"x" * 8_000 + b"\r\n"


@pytest.mark.parametrize("answer", [_endless, _endless_packed])
async def test_a_page_without_an_end_is_read_no_further_than_the_largest_size(
    answer: Callable[[], AsyncIterator[bytes]],
) -> None:
    with pytest.raises(ToolFailed, match="larger than 2 MB"):
        await fetch(answer)


async def test_headers_without_an_end_are_not_read() -> None:
    with pytest.raises(ToolFailed, match="as a web server does"):
        await fetch(_endless_head)


async def _drip() -> AsyncIterator[bytes]:
    yield HEAD + b"\r\n"
    while True:
        yield b"x"
        await asyncio.sleep(0.01)


async def _drip_head() -> AsyncIterator[bytes]:
    for byte in HEAD * 100:
        yield bytes([byte])
        await asyncio.sleep(0.01)


async def _silence() -> AsyncIterator[bytes]:
    yield b""
    await asyncio.sleep(10 * PATIENCE)


@pytest.mark.parametrize("answer", [_drip, _drip_head, _silence])
async def test_a_server_that_takes_its_time_has_only_so_much_of_it(
    answer: Callable[[], AsyncIterator[bytes]],
) -> None:
    with pytest.raises(ToolFailed, match=r"did not arrive within 0\.15 s"):
        async with asyncio.timeout(PATIENCE):
            await fetch(answer, seconds=0.15)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"\x16\x03\x01\x00\x00",
        HEAD + b"content-length: -1\r\n\r\n",
        HEAD + b"content-length: 5\r\ncontent-length: 6\r\n\r\nHello",
        HEAD + b"transfer-encoding: chunked\r\n\r\nZZ\r\nHello",
        b"HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
    ],
)
async def test_what_is_no_http_is_told_so(answer: bytes) -> None:
    async def once() -> AsyncIterator[bytes]:
        yield answer

    with pytest.raises(ToolFailed, match="as a web server does"):
        await fetch(once)


# -- redirects ------------------------------------------------------------------------------------


async def test_redirects_to_pages_of_allowed_hosts_are_followed() -> None:
    answers: dict[str, Answer] = {"/a": redirect("b"), "/c": page("There")}
    async with WebServer(answers) as server:
        answers["/b"] = redirect(server.url("/c", "other.example"), "308 Permanent Redirect")
        fetched = await server.pages(f"{HOST}\nother.example").fetch(server.url("/a"))
        assert (fetched.url, fetched.text) == (server.url("/c", "other.example"), "There")


async def test_redirects_in_a_circle_end() -> None:
    async with WebServer({"/a": redirect("/b"), "/b": redirect("/a")}) as server:
        with pytest.raises(ToolFailed, match="leads elsewhere more than 3 times"):
            await server.pages().fetch(server.url("/a"))
        assert len(server.requests) == 4


LOCATIONS = [
    *(url for url in ELSEWHERE if "://" in url and url.isprintable() and url.isascii()),
    *(f"http://{host}/" for host in INSIDE if host.isascii() and "#" not in host),
    *(
        "//127.0.0.1/",
        "\\\\127.0.0.1\\",
        "http:\\\\127.0.0.1/",
        "//evil.example",
        "http://[",
        "///x",
    ),
]


@pytest.mark.parametrize("location", LOCATIONS)
async def test_a_redirect_elsewhere_is_not_followed_however_it_is_written(location: str) -> None:
    """Also to the port of the server itself, on which it could be reached."""
    answers: dict[str, Answer] = {"/": b""}
    async with WebServer(answers) as server:
        with_port = location.replace("127.0.0.1", f"127.0.0.1:{server.port}", 1)
        for target in dict.fromkeys((location, with_port)):
            answers["/"] = redirect(target)
            del server.requests[:], server.asked_names[:]
            with pytest.raises((ToolRefused, ToolFailed)):
                await server.pages("docs.example\ndocs.example.org").fetch(server.url())
            assert set(server.asked_names) == {HOST}
            assert server.requests


# -- addresses ------------------------------------------------------------------------------------


class Names:
    """A name server that says the same of every name."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses
        self.asked = 0

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        self.asked += 1
        if not self.addresses:
            raise OSError("no such name")
        return self.addresses


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "::1", "::ffff:127.0.0.1", "10.0.0.1", "169.254.169.254", "fe80::1%lo"),
        *("::", "192.168.0.1", "172.16.0.1", "100.64.0.1", "198.51.100.7", "fd00::1", "0.1.2.3"),
        *("64:ff9b::7f00:1", "2002:7f00:1::", "224.0.0.1", "255.255.255.255", "nonsense"),
    ],
)
async def test_an_allowed_name_that_leads_inside_is_not_connected_to(address: str) -> None:
    names = Names(address)
    pages = WebPages(WebHosts.parse(HOST), INTERNET_ONLY, names.resolve)
    with pytest.raises(ToolFailed, match="no address on the internet"):
        await pages.fetch(f"http://{HOST}/")
    assert names.asked == 1


async def test_a_name_that_does_not_exist_is_said_not_to_answer() -> None:
    pages = WebPages(WebHosts.parse(HOST), INTERNET_ONLY, Names().resolve)
    with pytest.raises(ToolFailed, match="its server does not answer"):
        await pages.fetch(f"https://{HOST}/")


async def test_a_name_is_resolved_once_for_a_page() -> None:
    async with WebServer({"/": page("Hello")}) as server:
        names = Names("127.0.0.1")
        policy = build_policy("yes", (f"{HOST}:{server.port}",))
        await WebPages(WebHosts.parse(HOST), policy, names.resolve).fetch(server.url())
        assert names.asked == 1


async def test_a_name_that_leads_inside_after_a_redirect_is_not_followed_there() -> None:
    """As with rebinding: the name server says something else the second time."""
    async with WebServer({"/": redirect("http://other.example/")}) as server:
        policy = build_policy("yes", (f"{HOST}:{server.port}",))
        asked: list[str] = []

        async def resolve(host: str, port: int) -> Sequence[str]:
            asked.append(host)
            return ["127.0.0.1"]

        pages = WebPages(WebHosts.parse(f"{HOST}\nother.example"), policy, resolve)
        with pytest.raises(ToolFailed, match="no address on the internet"):
            await pages.fetch(server.url())
        assert asked == [HOST, "other.example"]
        assert len(server.requests) == 1
