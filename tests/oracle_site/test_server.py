"""Bounds of one connection that no application sees.

The server brings a reactor of its own, so it is imported in a process of its own, once.
"""

import subprocess
import sys

import pytest

from tests.support.server import ROOT, environment

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


def test_sending_to_a_browser_that_has_left_is_an_error_as_asgi_has_it(said: list[str]) -> None:
    assert "has left: ConnectionResetError" in said
