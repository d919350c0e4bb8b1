"""The site under test: a real server process that can be stopped and started, and its people."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx

from tests.support.script import Script, Step
from tests.support.script_player import Recorded
from tests.support.server import Server, full_disk, serving
from tests.support.template import copy_site
from tests.support.threaded_endpoint import Gate, Stage
from tests.support.timing import PATIENCE

SETTINGS = "tests.browser.settings"
SECOND_MODEL = "second-model"
GRACE_SECONDS = "0.3"
"""How long runs may still take when the server is told to stop."""
IDLE_SECONDS = PATIENCE
_numbers = count(1)


def _taken_port() -> socket.socket:
    """A port that nobody else is given, also while no server of ours listens on it."""
    taken = socket.socket()
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    taken.bind(("127.0.0.1", 0))
    return taken


class Site:
    """One database, one port; `proxied` is a second address that a proxy may listen on."""

    def __init__(self, folder: Path, stage: Stage, **environment: str) -> None:
        self.folder = folder
        self.stage = stage
        self._taken = [_taken_port(), _taken_port()]
        self.port, self.proxied = (taken.getsockname()[1] for taken in self._taken)
        self.address = f"http://127.0.0.1:{self.port}"
        self._serving = ExitStack()
        self._server: Server | None = None
        self._read = 0
        self._environment = {
            "DJANGO_SETTINGS_MODULE": SETTINGS,
            "ORACLE_ORIGINS": f"{self.address},http://127.0.0.1:{self.proxied}",
            "ORACLE_LLM_BASE_URL": stage.base_url,
            "ORACLE_LLM_MODELS": SECOND_MODEL,
            **environment,
        }
        self.http = httpx.Client(base_url=self.address, trust_env=False, timeout=30)

    def start(self) -> None:
        self._read = 0
        self._server = self._serving.enter_context(
            serving(
                self.folder,
                *("--grace", GRACE_SECONDS),
                port=self.port,
                sign_in=False,
                **self._environment,
            )
        )

    @contextmanager
    def full_disk(self) -> Iterator[None]:
        """Nothing can be written meanwhile."""
        assert self._server is not None
        with full_disk(self._server):
            yield

    def stop(self) -> None:
        """As a supervisor does it."""
        assert self._server is not None
        self._server.stop()
        self._serving.close()

    def kill(self) -> None:
        """`kill -9`."""
        assert self._server is not None
        self._server.process.kill()
        self._server.process.wait()
        self._serving.close()

    def close(self) -> None:
        self._serving.close()
        self.http.close()
        for taken in self._taken:
            taken.close()

    def news(self) -> str:
        """What the server has written to its log since it was last asked."""
        assert self._server is not None
        text = self._server.log.read_text(errors="replace")
        news, self._read = text[self._read :], len(text)
        return news

    def cpu_ms(self) -> float:
        """Processor time of the server so far, whatever else this machine is doing."""
        assert self._server is not None
        tasks = Path(f"/proc/{self._server.process.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e6

    def ask(self, door: str, **what: Any) -> dict[str, Any]:
        answer = self.http.post(f"/door/{door}", json=what).raise_for_status()
        return dict(answer.json())

    def person(self, **more: Any) -> "Person":
        """Somebody new."""
        name = more.pop("name", f"ada-{next(_numbers)}-{uuid4().hex[:6]}")
        made = self.ask("person", name=name, **more)
        return Person(self, name, made["project"])


@contextmanager
def open_site(folder: Path, stage: Stage, **environment: str) -> Iterator[Site]:
    """Serve a site that nobody has used yet."""
    site = Site(copy_site(folder), stage, **environment)
    try:
        site.start()
        yield site
    finally:
        site.close()


@dataclass
class Person:
    """Somebody with an account, the sample project, and a model that nobody else asks."""

    site: Site
    name: str
    project: str
    _playing: set[str] = field(default_factory=set)

    @property
    def librarian(self) -> str:
        return f"{self.name}-librarian"

    def plays(self, *steps: Step, then: Step | None = None, unused_ok: bool = False) -> None:
        """What this person's model answers, request by request."""
        self._play(self.name, Script(steps, then, unused_ok))

    def librarian_plays(self, *steps: Step, then: Step | None = None) -> None:
        self._play(self.librarian, Script(steps, then))

    def second_model_plays(self, *steps: Step) -> None:
        """What the other model of the site answers; tests come one after the other."""
        self._play(SECOND_MODEL, Script(steps))

    def _play(self, key: str, script: Script) -> None:
        self.site.stage.play(key, script)
        self._playing.add(key)

    def gate(self) -> Gate:
        return self.site.stage.gate()

    @property
    def requests(self) -> list[Recorded]:
        """What this person's model was asked so far."""
        return self.site.stage.requests(self.name)

    def problems(self) -> list[str]:
        return [what for key in self._playing for what in self.site.stage.problems(key)]

    def limits(self, **limits: int) -> dict[str, Any]:
        """Set these; all that are in force."""
        return self.site.ask("limits", name=self.name, **limits)

    def note(self, path: str, content: str) -> None:
        self.site.ask("note", name=self.name, path=path, content=content)

    def runs(self) -> list[dict[str, Any]]:
        """What is stored of this person's runs, oldest first, with all chunks."""
        answer = self.site.http.get("/door/runs", params={"name": self.name})
        return list(answer.raise_for_status().json()["runs"])

    def run(self) -> dict[str, Any]:
        """What is stored of the only run."""
        (only,) = self.runs()
        return only

    def until_stored(self, words: str) -> None:
        """Wait until a row of the only run has these words: for what no page shows."""
        deadline = time.monotonic() + IDLE_SECONDS
        while not any(words in row["content"] for row in self.run()["rows"]):
            assert time.monotonic() < deadline, f"{words!r} is not stored"
            time.sleep(0.05)

    def until_librarian_is_asked(self) -> None:
        """Wait until its model has a request: the page shows the call before that."""
        deadline = time.monotonic() + IDLE_SECONDS
        while not self.site.stage.requests(self.librarian):
            assert time.monotonic() < deadline, "the librarian's model was not asked"
            time.sleep(0.05)

    def until_idle(self) -> None:
        """Wait until none of their runs is going on: for what no page shows at that moment."""
        deadline = time.monotonic() + IDLE_SECONDS
        while any(run["outcome"] is None for run in self.runs()):
            assert time.monotonic() < deadline, "a run does not end"
            time.sleep(0.05)
