"""Bounds of one connection that no application sees.

The server brings a reactor of its own, so it is imported in a process of its own.
"""

import subprocess
import sys
from pathlib import Path

from tests.support.server import ROOT, environment

READS_NOTHING = """
import django
django.setup()
from oracle_site.server.server import MAX_UNSENT_BYTES, BoundedWebSocketProtocol, EagerTransport

class Full(EagerTransport):
    dataBuffer, offset, _tempDataLen = b"x" * (MAX_UNSENT_BYTES // 2), 0, MAX_UNSENT_BYTES // 2 + 1
    def __init__(self): pass

class Socket(BoundedWebSocketProtocol):
    def __init__(self): self.transport = Full()
    def dropConnection(self, abort=False): print("dropped", abort)
    def beginMessage(self, *args, **kwargs): print("sent")

Socket().sendMessage(b"news")
"""


def test_whoever_reads_nothing_is_cut_off_and_costs_no_more(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", READS_NOTHING],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env=environment(tmp_path),
    )
    assert done.stdout.split() == ["dropped", "True"]


HAS_LEFT = """
import django
django.setup()
from oracle_site.server.server import BoundedWebSocketProtocol, EagerTransport

class Open(EagerTransport):
    dataBuffer, offset, _tempDataLen = b"", 0, 0
    def __init__(self): pass

class Socket(BoundedWebSocketProtocol):
    def __init__(self): self.transport, self.state = Open(), self.STATE_CLOSED

try:
    Socket().sendMessage(b"news")
except OSError as error:
    print(type(error).__name__)
"""


def test_sending_to_a_browser_that_has_left_is_an_error_as_asgi_has_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HAS_LEFT],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env=environment(tmp_path),
    )
    assert done.stdout.split() == ["ConnectionResetError"]
