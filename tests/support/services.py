"""PostgreSQL and Redis of our own, started from what this machine has and always stopped.

They listen on free ports of loopback and keep everything in a temporary folder. Servers that
already run here are never looked at. A program that is not installed is `Missing`, with a sentence
that says what to install; tests turn it into a skip.
"""

import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import psycopg

READY_SECONDS = 30.0
STOP_SECONDS = 20.0
PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


class Missing(Exception):
    """A program that is not there, and how to get it."""


def die_with_parent() -> None:
    """For `preexec_fn`: the child is killed when we are gone, even when we were killed."""
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def faketime(clock: str) -> dict[str, str]:
    """Variables that give a process a clock that is wrong, such as `+60s`; timers stay right."""
    libraries = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    if not libraries:
        raise Missing("faketime is not installed; Debian: apt-get install faketime")
    return {
        "LD_PRELOAD": str(libraries[0]),
        "FAKETIME": clock,
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def stop_process(process: "subprocess.Popen[Any]", number: signal.Signals) -> None:
    """Ask a child to end, insist if it does not, and wait for it."""
    if process.poll() is None:
        process.send_signal(number)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _program(name: str, package: str) -> Path:
    """On PATH, or where Debian keeps PostgreSQL's: the newest version of it."""
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=_version)
    found = shutil.which(name)
    if found is None and not versions:
        raise Missing(f"{name} is not installed; Debian: apt-get install {package}")
    return Path(found) if found else versions[-1]


def _version(program: Path) -> float:
    name = program.parents[1].name
    return float(name) if name.replace(".", "", 1).isdigit() else 0.0


def _until(
    is_ready: Callable[[], bool], process: "subprocess.Popen[Any]", log: Path, name: str
) -> None:
    limit = time.monotonic() + READY_SECONDS
    while not is_ready():
        if process.poll() is not None or time.monotonic() > limit:
            raise RuntimeError(f"{name} does not start:\n{log.read_text()[-2000:]}")
        time.sleep(0.02)


class Postgres:
    """`with Postgres() as postgres:` then `create` databases and connect to their `address`.

    Nothing here outlives a test, so nothing is forced to disk. It refuses to run as root, so root
    lends it to the user that Debian's package makes. It begins empty, or as a copy of what another
    one left when it was stopped (`keep`).
    """

    USER = "oracle"

    def __init__(self, kept: Path | None = None) -> None:
        self._kept = kept
        self._server = _program("postgres", "postgresql")
        self._initdb = _program("initdb", "postgresql")
        self._as: dict[str, Any] = _unprivileged() if os.geteuid() == 0 else {}
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="oracle-postgres-"))
        try:
            self._initialise()
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self) -> None:
        log = self._folder / "log"
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": "",
            "fsync": "off",
            "autovacuum": "off",
            "synchronous_commit": "off",
            "full_page_writes": "off",
            "shared_buffers": "32MB",
            "max_connections": 100,
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [self._server, "-D", self._folder / "data", *options],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self._folder,
                preexec_fn=die_with_parent,
                **self._as,
            )
        _until(self._answers, self._process, log, "PostgreSQL")

    def stop(self) -> None:
        """At once: open sessions are ended."""
        if self._process is not None:
            stop_process(self._process, signal.SIGINT)
            self._process = None

    def stand_still(self, is_still: bool) -> None:
        """Stop all of its processes where they are (SIGSTOP), or let them go on."""
        assert self._process is not None
        pid = self._process.pid
        os.kill(pid, signal.SIGSTOP if is_still else signal.SIGCONT)
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            os.kill(int(child), signal.SIGSTOP if is_still else signal.SIGCONT)

    def keep(self, folder: Path) -> None:
        """Stop, and leave all databases there for others to begin with."""
        self.stop()
        _copy(self._folder / "data", folder)

    def address(self, database: str = "postgres") -> str:
        return f"postgresql://{self.USER}@127.0.0.1:{self.port}/{database}"

    def create(self, database: str, template: str = "template0") -> str:
        """A new database, as a copy of another; its address."""
        statement = psycopg.sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
            psycopg.sql.Identifier(database), psycopg.sql.Identifier(template)
        )
        with psycopg.connect(self.address(), autocommit=True) as connection:
            connection.execute(statement)
        return self.address(database)

    def _initialise(self) -> None:
        if user := self._as.get("user"):
            shutil.chown(self._folder, user, self._as["group"])
        if self._kept is not None:
            _copy(self._kept, self._folder / "data")
            return
        done = subprocess.run(
            [
                *(self._initdb, "-D", self._folder / "data", "-U", self.USER),
                *("--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C"),
            ],
            capture_output=True,
            text=True,
            cwd=self._folder,
            timeout=120,
            **self._as,
        )
        if done.returncode:
            raise RuntimeError(f"initdb failed:\n{done.stderr[-2000:]}")

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.address(), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True


def _copy(source: Path, target: Path) -> None:
    """With owners, which `shutil` does not copy."""
    subprocess.run(["cp", "--archive", source, target], check=True, timeout=60)


def _unprivileged() -> dict[str, Any]:
    try:
        person = pwd.getpwnam("postgres")
    except KeyError:
        raise Missing(
            "PostgreSQL does not run as root, and there is no user postgres; "
            "run the tests as another user, or: apt-get install postgresql"
        ) from None
    return {"user": person.pw_uid, "group": person.pw_gid, "extra_groups": []}


class Redis:
    """`with Redis() as redis:` then connect to its `address`. It can be stopped and started again
    on the same port; what it knew is gone then, as after a crash."""

    DATABASES = 1000

    def __init__(self) -> None:
        self._server = _program("redis-server", "redis-server")
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="oracle-redis-"))
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def address(self, database: int = 0) -> str:
        """Of one of its numbered databases, below `DATABASES`."""
        return f"redis://127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        log = self._folder / "log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [
                    *(self._server, "--port", str(self.port), "--bind", "127.0.0.1"),
                    *("--save", "", "--appendonly", "no", "--dir", self._folder),
                    *("--databases", str(self.DATABASES)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                preexec_fn=die_with_parent,
            )
        _until(self._answers, self._process, log, "Redis")

    def stop(self) -> None:
        """At once, as a crash would."""
        if self._process is not None:
            stop_process(self._process, signal.SIGKILL)
            self._process = None

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=2) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False
