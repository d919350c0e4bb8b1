"""The server that is attacked: a fresh site, its model, and the people on it."""

import asyncio
import os
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
from websockets.asyncio.client import ClientConnection, connect

from tests.faults.rows import SqliteRows
from tests.support.server import ROOT, Server, free_port, prepare, serving
from tests.support.services import die_with_parent

SETTINGS = "tests.attack.settings"
ATTACKER = "127.0.0.9"
"""Attackers come from another address than the person who is measured."""
PASSWORD = "a harbour in november"
CSRF_TOKEN = "c" * 32
"""Whoever attacks pages with an account of theirs has one; that it holds is tried elsewhere."""
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Shared: to read the authorities of the machine for each client costs more than the attack."""
TICK = os.sysconf("SC_CLK_TCK")
PATIENCE = 60.0
CALM_SECONDS, CALM_CPU = 60, 0.1


def cpu_seconds(stat: str) -> float:
    """Of all threads of a process, from its line in /proc."""
    after_name = stat.rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / TICK


@dataclass(frozen=True)
class Somebody:
    """A person with an account, signed in, and a conversation of theirs."""

    address: str
    name: str
    project: str
    cookie: str
    talk: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Cookie": self.cookie, "X-CSRFToken": CSRF_TOKEN}

    def connect(self, key: str = "", source: str = ATTACKER, **more: Any) -> connect:
        usual: dict[str, Any] = {
            "origin": self.address,
            "additional_headers": self.headers,
            "local_addr": (source, 0),
            "proxy": None,
            "max_queue": None,
            "max_size": None,
            "open_timeout": PATIENCE,
            "close_timeout": 1,
            "ping_interval": None,
            "compression": None,
        }
        address = self.address.replace("http", "ws", 1)
        return connect(f"{address}/ws/{self.project}/{key or uuid4()}/", **{**usual, **more})

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


class Target:
    """The server process, seen from outside."""

    def __init__(self, server: Server, folder: Path, address: str) -> None:
        self.server, self.folder, self.address = server, folder, address
        self.rows = SqliteRows(folder / "oracle.sqlite3")

    @property
    def pid(self) -> int:
        return self.server.process.pid

    def cpu(self) -> float:
        """Seconds of processor time so far, of threads that have ended as well."""
        return cpu_seconds(Path(f"/proc/{self.pid}/stat").read_text())

    def rss(self) -> float:
        """Megabytes of memory now."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    async def calm(self) -> None:
        """Wait until nothing of an earlier attack goes on, but not for ever."""
        for _ in range(CALM_SECONDS):
            before = self.cpu()
            await asyncio.sleep(1.0)
            if self.cpu() - before < CALM_CPU:
                return

    def log(self) -> str:
        return self.server.log.read_text(errors="replace")

    def lost(self) -> int:
        """Runs that were taken from their owner, or ended because nobody drove them."""
        lost = "SELECT count(*) FROM agents_agentrun WHERE reason = 'interrupted' OR fence > 1"
        return int(self.rows.query(lost)[0][0])

    def door(self, door: str, **what: Any) -> dict[str, Any]:
        """Ask a door of the attack."""
        answer = httpx.post(
            f"{self.address}/door/{door}", json=what, timeout=PATIENCE, trust_env=False
        )
        return dict(answer.raise_for_status().json())

    def person(self, name: str, **more: Any) -> Somebody:
        project = self.door("person", name=name, **more)["project"]
        talk = self.door("talk", name=name, exchanges=3)["conversation"]
        with httpx.Client(base_url=self.address, trust_env=False, timeout=PATIENCE) as browser:
            browser.get("/door/enter", params={"name": name})
            cookie = f"sessionid={browser.cookies['sessionid']}; csrftoken={CSRF_TOKEN}"
        return Somebody(self.address, name, project, cookie, talk)

    def client(self, who: Somebody | None = None, source: str = ATTACKER) -> httpx.AsyncClient:
        """A program that sends requests, as somebody or as nobody."""
        return httpx.AsyncClient(
            base_url=self.address,
            headers=who.headers if who is not None else {},
            transport=httpx.AsyncHTTPTransport(
                verify=NO_TLS, local_address=source, limits=httpx.Limits(max_connections=None)
            ),
            timeout=PATIENCE,
        )


@contextmanager
def open_target() -> Iterator[Target]:
    """A fresh site on this machine, until the block ends."""
    with tempfile.TemporaryDirectory(prefix="oracle-attack-") as name, _model() as model:
        folder, port = Path(name), free_port()
        variables = {
            "DJANGO_SETTINGS_MODULE": SETTINGS,
            # A name, so that each request needs a lookup.
            "ORACLE_LLM_BASE_URL": f"{model.replace('127.0.0.1', 'localhost')}/v1",
            "ORACLE_OWN_ENDPOINTS": "yes",
        }
        prepare(folder, **variables)
        with serving(folder, "--grace", "0.3", port=port, sign_in=False, **variables) as server:
            yield Target(server, folder, f"http://127.0.0.1:{port}")


@contextmanager
def _model() -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.attack.model"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=die_with_parent,
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


async def until_closed(socket: ClientConnection, seconds: float) -> int | None:
    """The code that a socket is closed with, if it is in time."""
    try:
        async with asyncio.timeout(seconds):
            await socket.wait_closed()
    except TimeoutError:
        return None
    return socket.close_code
