"""Bounds of one connection that no application sees.

The server brings a reactor of its own, so it is imported in a process of its own, once.
"""

import socket
import subprocess
import sys
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.support.server import ROOT, Server, environment, prepare, serving
from tests.support.timing import PATIENCE

pytestmark = pytest.mark.ci

SOCKETS = """
import django
django.setup()
from oracle_site.server.server import MAX_UNSENT_BYTES, BoundedWebSocketProtocol, EagerTransport

class Full(EagerTransport):
    dataBuffer, offset, _tempDataLen = b"x" * (MAX_UNSENT_BYTES // 2), 0, MAX_UNSENT_BYTES // 2 + 1
    def __init__(self): pass

class Socket(BoundedWebSocketProtocol):
    def __init__(self): self.transport = Full()
    def dropConnection(self, abort=False): print("reads nothing: dropped", abort)
    def beginMessage(self, *args, **kwargs): print("reads nothing: sent")

Socket().sendMessage(b"news")

class Open(EagerTransport):
    dataBuffer, offset, _tempDataLen = b"", 0, 0
    def __init__(self): pass

class Left(BoundedWebSocketProtocol):
    def __init__(self): self.transport, self.state = Open(), self.STATE_CLOSED

try:
    Left().sendMessage(b"news")
except OSError as error:
    print("has left:", type(error).__name__)

from daphne.http_protocol import HTTPFactory
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from oracle_site.server.server import HEADER_SECONDS

HEAD = b"GET / HTTP/1.1\\r\\nHost: a\\r\\n"

class Requests:
    proxy_forwarded_address_header, root_path = None, ""
    def protocol_connected(self, protocol): pass
    def protocol_disconnected(self, protocol): pass
    def create_application(self, protocol, scope): print("headers: asked for", scope["path"])

def connect(name, *sent):
    # Each byte string is sent a second after the one before, in the time of `clock`.
    clock = Clock()
    channel = HTTPFactory(Requests()).buildProtocol(None)
    channel.callLater, transport = clock.callLater, StringTransport()
    channel.makeConnection(transport)
    for data in sent:
        clock.advance(1)
        channel.dataReceived(data)
    print("headers:", name, "closed" if transport.disconnecting else "open")

drip = [b"x"] * (HEADER_SECONDS - 2)
connect("unfinished in time", HEAD, *drip)
connect("unfinished", HEAD, *drip, b"x", b"x")
connect("finished", HEAD, *drip[1:], b": y\\r\\n\\r\\n", b"", b"", b"")
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", SOCKETS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env=environment(tmp_path_factory.mktemp("site")),
    )
    return done.stdout.splitlines()


def test_whoever_reads_nothing_is_cut_off_and_costs_no_more(said: list[str]) -> None:
    assert [line for line in said if "reads nothing" in line] == ["reads nothing: dropped True"]


def test_headers_that_are_not_finished_in_time_end_the_connection(said: list[str]) -> None:
    """Although it is never idle. A request whose headers have arrived may take longer."""
    assert [line.removeprefix("headers: ") for line in said if "headers:" in line] == [
        "unfinished in time open",
        "unfinished closed",
        "asked for /",
        "finished open",
    ]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("served")
    prepare(folder)
    with serving(folder) as server:
        yield server


@pytest.mark.parametrize("path", ["/", "/healthz", "/api/modes", "/static/css/tokens.css"])
@pytest.mark.parametrize(
    ("head", "is_refused"),
    [
        ("HTTP/1.1\r\n", True),
        ("HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: 127.0.0.1\r\n", True),
        ("HTTP/1.1\r\nHost: 127.0.0.1\r\n", False),
        ("HTTP/1.0\r\n", False),
    ],
)
def test_a_request_without_one_host_is_refused_as_a_bad_request(
    server: Server, path: str, head: str, is_refused: bool
) -> None:
    address = urlsplit(server.address)
    with socket.create_connection((address.hostname, address.port), PATIENCE) as browser:
        browser.sendall(f"GET {path} {head}Connection: close\r\n\r\n".encode())
        status = browser.makefile("rb").readline().split()[1]
    assert (status == b"400") is is_refused
    assert "Traceback" not in server.log.read_text()


def test_sending_to_a_browser_that_has_left_is_an_error_as_asgi_has_it(said: list[str]) -> None:
    assert "has left: ConnectionResetError" in said
