"""A site to be broken: a database, and server processes on it that are killed, stopped, restarted.

The processes are `manage.py serve`, as in production, with the doors of `backdoors.py` beside the
pages. All of them are our children and die with us, whatever happens.
"""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Self

import httpx

from tests.faults.client import Client
from tests.faults.figures import Figures
from tests.faults.rows import PostgresRows, Rows, SqliteRows
from tests.support.services import Postgres, Redis, die_with_parent, faketime, stop_process
from tests.support.template import MIGRATED, copy_site

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 60.0
OURS = ("ORACLE_", "DATABASE_URL", "REDIS_URL", "DJANGO_")
"""Variables that a test decides itself."""


class Server:
    """A server process, and a client of it."""

    def __init__(self, process: "subprocess.Popen[str]", log: Path) -> None:
        self._process = process
        self._log = log
        self.spawned_at = time.time()
        self.seconds = 0.0
        """From its beginning until it served."""
        self.starved = 0.0
        """Of these, how long it was ready to run and got no processor."""

    async def ready(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        try:
            async with asyncio.timeout(START_SECONDS):
                line = await asyncio.to_thread(stdout.readline)
        finally:
            if self._process.poll() is not None:
                await self.kill()
        if not line.startswith("Serving on "):
            await self.kill()
            raise RuntimeError(f"the server does not start: {line}{self.log()[-3000:]}")
        self.seconds = time.time() - self.spawned_at
        self.starved = self._waited_for_a_processor()
        self.address = line.split()[2]
        self.client = Client(self.address)

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    async def ended(self, seconds: float) -> int | None:
        """Its exit code, or None if it does not end in time."""
        with suppress(subprocess.TimeoutExpired):
            return await asyncio.to_thread(self._process.wait, seconds)
        return None

    async def kill(self) -> None:
        """`kill -9`. What clients had received by then they keep."""
        self._process.kill()
        await asyncio.to_thread(self._process.wait)

    async def close(self) -> None:
        if hasattr(self, "client"):
            await self.client.__aexit__()
        stop_process(self._process, signal.SIGKILL)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _waited_for_a_processor(self) -> float:
        """What the machine, busy with something else, has cost its main thread so far."""
        accounts = Path(f"/proc/{self._process.pid}/schedstat")
        return int(accounts.read_text().split()[1]) / 1e9 if accounts.exists() else 0.0

    def rss(self) -> int:
        """Bytes of memory it has now."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) * 1024

    def log(self) -> str:
        return self._log.read_text()


class Site:
    """One database with its folder, and the servers on it."""

    def __init__(self, folder: Path, rows: Rows, variables: dict[str, str]) -> None:
        self.folder = folder
        self.rows = rows
        self._variables = variables
        self._numbers = count()
        self._servers: list[Server] = []

    async def serve(self, grace: float = 20.0, clock: str = "") -> Server:
        """A further server process, once it serves; with another `clock`, as faketime takes it."""
        server = self._spawn(grace, faketime(clock) if clock else {})
        self._servers.append(server)
        await server.ready()
        return server

    def _spawn(self, grace: float, more: dict[str, str]) -> Server:
        log = self.folder / f"server{next(self._numbers)}.log"
        with log.open("w") as errors:
            process = subprocess.Popen(
                [sys.executable, "manage.py", "serve", "--port", "0", "--grace", str(grace)],
                cwd=ROOT,
                env={**self._variables, **more},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                preexec_fn=die_with_parent,
            )
        return Server(process, log)

    async def close(self) -> None:
        for server in self._servers:
            await server.close()

    def logs(self) -> str:
        return "".join(server.log() for server in self._servers)


class Bench:
    """Where sites are made: the model endpoint, a prepared site to copy, and the services."""

    def __init__(
        self,
        postgres: Postgres | None = None,
        redis: Redis | None = None,
        *,
        slack: float = 1.0,
    ) -> None:
        self.postgres = postgres
        self.redis = redis
        self._slack = slack
        self._numbers = count()
        self._open = ExitStack()
        self.said = ""
        """The logs of the last site's servers."""

    def __enter__(self) -> Self:
        with ExitStack() as opening:
            folder = opening.enter_context(tempfile.TemporaryDirectory(prefix="oracle-faults-"))
            self._folder = Path(folder)
            self._model = opening.enter_context(_model())
            assert self._model.stdout is not None
            self.model_address = self._model.stdout.readline().strip()
            self._prepare()
            self._open = opening.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._model.kill()
        self._open.close()

    @property
    def is_scale(self) -> bool:
        """Whether sites are on PostgreSQL and Redis, with more than one server process."""
        return self.postgres is not None

    @property
    def name(self) -> str:
        return "PostgreSQL and Redis" if self.is_scale else "SQLite"

    def figures(self, name: str) -> Figures:
        return Figures(name, self._slack)

    @asynccontextmanager
    async def site(self) -> AsyncIterator[Site]:
        """A new site. Its servers are killed and its folder is deleted in the end."""
        number = next(self._numbers)
        name = f"site{number}"
        folder = self._folder / name
        shutil.copytree(self._fresh, folder)
        if self.postgres is not None:
            address = self.postgres.create(name, template="prepared")
            site = Site(folder, PostgresRows(address), self._variables(folder, address, number))
        else:
            rows = SqliteRows(folder / "oracle.sqlite3")
            site = Site(folder, rows, self._variables(folder, ""))
        try:
            yield site
        finally:
            await site.close()
            self.said = site.logs()
            shutil.rmtree(folder)

    async def answers_under_way(self) -> int:
        """How many answers the model is giving now."""
        async with httpx.AsyncClient(trust_env=False) as http:
            return int((await http.get(self.model_address)).json()["open"])

    def _prepare(self) -> None:
        self._fresh = self._folder / "fresh"
        copy_site(self._fresh)
        address = self.postgres.create("prepared", MIGRATED) if self.postgres is not None else ""
        subprocess.run(
            [sys.executable, "-m", "tests.faults.prepare"],
            cwd=ROOT,
            env=self._variables(self._fresh, address),
            check=True,
            timeout=300,
        )

    def _variables(self, folder: Path, database: str, number: int = 0) -> dict[str, str]:
        given = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        return {
            **given,
            "DJANGO_SETTINGS_MODULE": "tests.faults.settings",
            "ORACLE_DATA_DIR": str(folder),
            "ORACLE_ORIGINS": "http://127.0.0.1",
            "ORACLE_LLM_BASE_URL": f"{self.model_address}/v1",
            "DATABASE_URL": database,
            "REDIS_URL": self.redis.address(number) if self.redis is not None else "",
        }


def _model() -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "tests.faults.model"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=die_with_parent,
    )
