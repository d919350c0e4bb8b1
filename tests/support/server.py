"""The real server, as a process of its own, with a site of its own.

    prepare(folder)
    with serving(folder) as server:
        httpx.get(server.address)

For what a test client cannot show: sockets, signals, static files, the command line.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from resource import RLIM_INFINITY, RLIMIT_FSIZE, prlimit

from tests.support.template import copy_site
from tests.support.timing import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
OURS = ("ORACLE_", "DATABASE_URL", "REDIS_URL")
STOP_SECONDS = 30.0
LOG_BYTES = 4096


@dataclass(frozen=True)
class Server:
    """A server that listens. `link` signs in once; it is empty if none was asked for."""

    address: str
    link: str
    process: "subprocess.Popen[bytes]"
    log: Path

    def stop(self) -> int:
        """As a supervisor does: SIGTERM, and what it answers."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(STOP_SECONDS)


@contextmanager
def full_disk(server: Server) -> Iterator[None]:
    """No file of the server can grow, as on a disk without room; but for a few lines of its log."""
    room = server.log.stat().st_size + LOG_BYTES
    prlimit(server.process.pid, RLIMIT_FSIZE, (room, RLIM_INFINITY))
    try:
        yield
    finally:
        prlimit(server.process.pid, RLIMIT_FSIZE, (RLIM_INFINITY, RLIM_INFINITY))


def environment(folder: Path, **more: str) -> dict[str, str]:
    """That of a fresh shell, with a site in `folder` that is served over plain HTTP."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    ours = {
        "ORACLE_DATA_DIR": str(folder),
        "ORACLE_ORIGINS": "http://127.0.0.1",
        "DJANGO_SETTINGS_MODULE": "oracle_site.settings",
    }
    return {**kept, **ours, **more}


def manage(folder: Path, *arguments: str, **more: str) -> str:
    """What a command of manage.py prints. One that fails is a failed test."""
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment(folder, **more),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def prepare(folder: Path, **_more: str) -> None:
    """Leave what `make run` leaves before it serves: tables and static files, which are the same
    whatever else a server is told."""
    copy_site(folder)


def free_port() -> int:
    """For a test that has to name the origin before the server knows its port."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def serving(
    folder: Path, *arguments: str, port: int = 0, sign_in: bool = True, **more: str
) -> Iterator[Server]:
    """Serve a prepared site until the block ends. A port that is given becomes the origin."""
    if port:
        more = {"ORACLE_ORIGINS": f"http://127.0.0.1:{port}", **more}
    command = [sys.executable, "manage.py", "serve", "--port", str(port), *arguments]
    log = folder / "server.log"
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [*command, *(["--sign-in"] if sign_in else [])],
            cwd=ROOT,
            env=environment(folder, **more),
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            yield _listening(process, log, sign_in)
        finally:
            _end(process)


def _listening(process: "subprocess.Popen[bytes]", log: Path, sign_in: bool) -> Server:
    wanted = rb"Serving on (\S+).*\n" + (rb"Sign in .*: (\S+)\n" if sign_in else rb"()")
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        if said := re.search(wanted, log.read_bytes()):
            return Server(said[1].decode(), said[2].decode(), process, log)
        time.sleep(0.02)
    raise AssertionError(f"the server did not start:\n{log.read_text(errors='replace')}")


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
