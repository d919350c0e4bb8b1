"""Downloads that are read late, or not at all."""

import hashlib
import os
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.support.server import Server, manage, prepare, serving
from tests.support.timing import PATIENCE

pytestmark = pytest.mark.ci

FILE_BYTES = 24 * 1024 * 1024
READERS = 6
MAX_GROWTH_BYTES = FILE_BYTES


@dataclass(frozen=True)
class Site:
    server: Server
    cookies: dict[str, str]
    file: str
    """Path of the page that sends the file."""
    sha256: str

    def memory(self) -> int:
        """Bytes of memory that the server has."""
        status = Path(f"/proc/{self.server.process.pid}/status").read_text()
        return 1024 * int(re.findall(r"VmRSS:\s+(\d+)", status)[0])

    def ask(self, path: str) -> socket.socket:
        """Send a request, and read nothing."""
        address = urlsplit(self.server.address)
        browser = socket.create_connection((address.hostname, address.port), PATIENCE)
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        head = f"GET {path} HTTP/1.1\r\nHost: {address.netloc}\r\nCookie: {cookie}\r\n"
        browser.sendall(f"{head}Connection: close\r\n\r\n".encode())
        return browser


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder, vault = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("vault")
    prepare(folder)
    data = os.urandom(FILE_BYTES)
    (vault / "large.bin").write_bytes(data)
    with serving(folder) as server, httpx.Client(base_url=server.address) as browser:
        browser.get(server.link, follow_redirects=True).raise_for_status()
        manage(folder, "projects", "create", "Large files")
        manage(folder, "import_vault", str(vault), "--project", "Large files")
        file = "/library/large-files/files/large.bin"
        yield Site(server, dict(browser.cookies), file, hashlib.sha256(data).hexdigest())


def test_what_nobody_reads_is_not_kept_in_memory(site: Site) -> None:
    before = site.memory()
    with ExitStack() as stack:
        browsers = [stack.enter_context(site.ask(site.file)) for _ in range(READERS)]
        for browser in browsers[:2]:
            assert browser.recv(12) == b"HTTP/1.1 200"
        for _ in range(20):
            httpx.get(f"{site.server.address}/healthz").raise_for_status()
        assert site.memory() - before < MAX_GROWTH_BYTES
        page = httpx.get(f"{site.server.address}/projects/", cookies=site.cookies)
        assert page.status_code == 200, "the person's own pages wait for nothing"
        body = b"".join(iter(lambda: browsers[0].recv(1 << 20), b"")).partition(b"\r\n\r\n")[2]
    assert hashlib.sha256(body).hexdigest() == site.sha256
