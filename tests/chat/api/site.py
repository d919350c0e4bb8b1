"""A real server process with a scripted model, and programs that talk to its API."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import httpx

from tests.support.script import Script, Step
from tests.support.server import Server, prepare, serving
from tests.support.threaded_endpoint import Stage
from tests.support.timing import PATIENCE

SETTINGS = "tests.chat.api.settings"
_numbers = count(1)


@dataclass(frozen=True)
class Event:
    """One server-sent event, with what its data say."""

    id: int
    event: str
    chunk: dict[str, Any]


class Site:
    def __init__(self, folder: Path, stage: Stage) -> None:
        self.folder, self.stage = folder, stage
        self.server: Server
        self._serving = ExitStack()
        prepare(folder, DJANGO_SETTINGS_MODULE=SETTINGS)

    @contextmanager
    def open(self) -> Iterator[None]:
        with self._serving:
            self._start()
            yield

    def kill_and_restart(self) -> None:
        """`kill -9`, and the next server on the same data."""
        self.server.process.kill()
        self._serving.close()
        self._start()

    def _start(self) -> None:
        self.server = self._serving.enter_context(
            serving(
                self.folder,
                "--grace",
                "0.3",
                sign_in=False,
                ORACLE_LLM_BASE_URL=self.stage.base_url,
                DJANGO_SETTINGS_MODULE=SETTINGS,
            )
        )

    @property
    def threads(self) -> int:
        """Of the server process."""
        return len(list(Path(f"/proc/{self.server.process.pid}/task").iterdir()))

    def ask(self, door: str, **what: Any) -> dict[str, Any]:
        there = f"{self.server.address}/door/{door}"
        answer = httpx.post(there, json=what, trust_env=False, timeout=PATIENCE)
        return dict(answer.raise_for_status().json())

    def program(self) -> "Program":
        """Of somebody new, with a model of their own."""
        name = f"ada-{next(_numbers)}"
        self.ask("person", name=name)
        return Program(self, name, self.ask("token", name=name)["token"])


@dataclass(frozen=True)
class Program:
    site: Site
    name: str
    token: str

    def plays(self, *steps: Step, then: Step | None = None) -> None:
        self.site.stage.play(self.name, Script(steps, then, unused_ok=True))

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx.AsyncClient]:
        async with httpx.AsyncClient(
            base_url=f"{self.site.server.address}/api/",
            headers={"Authorization": f"Bearer {self.token}"},
            limits=httpx.Limits(max_connections=None),
            trust_env=False,
            timeout=PATIENCE,
        ) as client:
            yield client

    def stored(self) -> list[dict[str, Any]]:
        """Every chunk of this person's only run, as the database has it."""
        there = f"{self.site.server.address}/door/runs"
        answer = httpx.get(there, params={"name": self.name}, trust_env=False, timeout=PATIENCE)
        (run,) = answer.json()["runs"]
        return list(run["chunks"])


async def events(response: httpx.Response) -> AsyncIterator[Event]:
    """The events of a stream, as they come."""
    assert response.status_code == 200, await response.aread()
    assert response.headers["content-type"] == "text/event-stream"
    fields: dict[str, str] = {}
    async for line in response.aiter_lines():
        name, _, value = line.partition(": ")
        if line and name:
            fields[name] = value
        elif "data" in fields:
            yield Event(int(fields["id"]), fields["event"], json.loads(fields["data"]))
            fields = {}
        else:
            fields = {}


def text_of(got: list[Event]) -> str:
    return "".join(each.chunk["content"] for each in got if each.event == "content")
