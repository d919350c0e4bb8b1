"""/readyz says what is true: by a write, not by a guess."""

import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from resource import RLIM_INFINITY, RLIMIT_FSIZE, setrlimit
from typing import Any

import httpx
import pytest
from django.core.management import CommandError
from django.test import Client

from agents.ledger import LOCKED
from agents.runtime import current as home_module
from chat.models import TrialWrite
from oracle_site import health, write_probe
from oracle_site.management.commands import serve
from oracle_site.write_probe import WriteProbe
from tests.support.server import Server, environment, full_disk, prepare, serving
from tests.support.timing import PATIENCE, look_again, measure_multiple

# -- one trial for everybody ----------------------------------------------------------------------


class Disk:
    """Takes writes, or does not, and keeps account of them."""

    def __init__(self) -> None:
        self.trouble = ""
        self.writes = 0
        self.answers = threading.Event()
        self.answers.set()

    def write(self) -> str:
        self.writes += 1
        self.answers.wait(PATIENCE)
        return self.trouble


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    made = Disk()
    monkeypatch.setattr(write_probe, "try_to_write", made.write)
    monkeypatch.setattr(write_probe, "TIMEOUT_SECONDS", PATIENCE)
    yield made
    made.answers.set()


def test_a_write_that_fails_is_told_and_one_that_works_again_too(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_probe, "CACHE_SECONDS", -1.0)
    tried = WriteProbe()
    assert tried.find_problem() == ""
    disk.trouble = "The server's disk is full."
    assert tried.find_problem() == "The server's disk is full."
    disk.trouble = ""
    assert tried.find_problem() == ""


def test_many_who_ask_share_one_write(disk: Disk) -> None:
    tried = WriteProbe()
    assert {tried.find_problem() for _ in range(50)} == {""}
    assert disk.writes == 1


def test_a_write_that_hangs_is_a_lock_and_nobody_waits_for_it_twice(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_probe, "TIMEOUT_SECONDS", 0.2)
    disk.answers.clear()
    tried = WriteProbe()
    assert tried.find_problem() == LOCKED

    def look_often() -> None:
        assert {tried.find_problem() for _ in range(50)} == {LOCKED}

    look_often()
    assert disk.writes == 1
    most = 10.0  # looks that wait: all fifty would
    waits = measure_multiple(
        look_often, lambda: WriteProbe().find_problem(), enough=most, clock=time.monotonic, tries=2
    )
    assert waits <= most


@pytest.mark.django_db(transaction=True)
def test_a_trial_leaves_one_row_however_often_it_is_made() -> None:
    assert [write_probe.try_to_write() for _ in range(3)] == [""] * 3
    assert TrialWrite.objects.count() == 1


# -- what is answered -----------------------------------------------------------------------------


class Home:
    def __init__(self, trouble: str) -> None:
        self.not_ready_reason = trouble


class Tried:
    def __init__(self, trouble: str) -> None:
        self._trouble = trouble

    def find_problem(self) -> str:
        return self._trouble


@pytest.mark.parametrize(
    ("of_runs", "of_the_trial", "status", "text"),
    [
        ("", "", 200, "ready"),
        ("", LOCKED, 503, LOCKED),
        ("stopping", "", 503, "stopping"),
        ("The server's disk is full.", "", 503, "The server's disk is full."),
    ],
)
def test_a_process_is_ready_unless_something_is_the_matter(
    of_runs: str, of_the_trial: str, status: int, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(home_module, "_runtimes", [Home(of_runs)])
    monkeypatch.setattr(health, "write_probe", Tried(of_the_trial))
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.content.decode()) == (status, text)


def test_a_server_that_could_store_nothing_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "try_to_write", lambda: "The database is read-only.")
    with pytest.raises(CommandError, match=r"nothing can be stored\. The database is read-only"):
        serve._refuse_unwritable_database()


# -- the real server ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site")
    prepare(made)
    return made


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    with serving(folder) as running:
        yield running


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    path = folder / "oracle.sqlite3"
    with closing(sqlite3.connect(path, timeout=20, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def becomes(server: Server, status: int) -> httpx.Response:
    """What /readyz says as soon as it says this."""
    for _ in look_again(0.1):
        answer = httpx.get(f"{server.address}/readyz", trust_env=False, timeout=PATIENCE)
        if answer.status_code == status:
            return answer
    raise AssertionError(f"/readyz does not become {status}: {answer.text}")


def sign_in(server: Server) -> httpx.Response:
    with httpx.Client(base_url=server.address, trust_env=False, timeout=60) as browser:
        browser.get("/sign-in/")
        token = browser.cookies["csrftoken"]
        form: dict[str, Any] = {"username": "x", "password": "y", "csrfmiddlewaretoken": token}
        return browser.post("/sign-in/", data=form, headers={"referer": server.address})


@pytest.mark.ci
def test_a_disk_that_takes_nothing_is_told_and_forgotten_when_it_does(server: Server) -> None:
    becomes(server, 200)
    with full_disk(server):
        assert "disk" in becomes(server, 503).text
        page = sign_in(server)
        assert page.status_code == 503
        assert "The server&#x27;s disk" in page.text
        assert httpx.get(f"{server.address}/healthz", trust_env=False).status_code == 200
        assert httpx.get(f"{server.address}/sign-in/", trust_env=False).status_code == 200
    becomes(server, 200)
    assert sign_in(server).status_code == 200
    log = server.log.read_text()
    assert "could not be answered: The server's disk" in log
    assert "Traceback" not in log


@pytest.mark.ci
def test_only_the_owner_can_read_what_the_server_writes(server: Server, folder: Path) -> None:
    becomes(server, 200)
    modes = {file.name: file.stat().st_mode & 0o777 for file in folder.glob("oracle.sqlite3*")}
    assert modes["oracle.sqlite3"] == 0o600
    assert set(modes.values()) == {0o600}


@pytest.mark.ci
def test_a_locked_database_is_told_within_seconds(server: Server, folder: Path) -> None:
    becomes(server, 200)
    with locked(folder):
        assert becomes(server, 503).text == LOCKED
    becomes(server, 200)


@pytest.mark.ci
def test_a_server_says_at_its_start_that_nothing_can_be_stored(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "serve", "--port", "0"],
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: setrlimit(RLIMIT_FSIZE, (0, RLIM_INFINITY)),
    )
    assert done.returncode == 1
    assert "Cannot serve: nothing can be stored. The server's disk" in done.stderr
    assert "Traceback" not in done.stderr
