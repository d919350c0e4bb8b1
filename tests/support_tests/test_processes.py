"""Tests shared among processes."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.timing import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., "subprocess.CompletedProcess[str]"]

TESTS = 300
MANY = f"""
import os
import pytest

@pytest.mark.parametrize("number", range({TESTS}))
def test_writes_down_who_ran_it(number, pytestconfig):
    with open(pytestconfig.rootpath / "ran", "a") as file:
        print(number, os.getpid(), os.getppid(), file=file)
"""
MIXED = """
import logging
import os
import pytest

handler = logging.StreamHandler()  # keeps the stream of now

@pytest.fixture(scope="session", autouse=True)
def tidy(pytestconfig):
    yield
    (pytestconfig.rootpath / f"tidied-{os.getpid()}").touch()

def test_passes(): print("unseen words")
def test_fails():
    print("words before")
    handler.handle(logging.makeLogRecord({"msg": "logged words"}))
    assert 1 == 2
def test_is_skipped(): pytest.skip("not here")
"""
ORPHAN = """
import os, signal, time

def test_is_killed(pytestconfig):
    if (left := os.fork()) == 0:
        time.sleep(600)  # holds the pipe of its parent
    (pytestconfig.rootpath / "left").write_text(str(left))
    os.kill(os.getpid(), signal.SIGKILL)
"""
INTERRUPT = """
import os, signal

def test_says_much():
    os.kill(os.getppid(), signal.SIGINT)
    print("words " * 1_000_000)
    assert 0

def test_passes(): pass
"""
APART = """
import os
import pytest

@pytest.mark.apart
@pytest.mark.parametrize("number", range(40))
def test_is_apart(number, pytestconfig):
    with open(pytestconfig.rootpath / "apart", "a") as file:
        print(os.getpid(), file=file)

@pytest.mark.parametrize("number", range(40))
def test_is_not(number, pytestconfig):
    with open(pytestconfig.rootpath / "others", "a") as file:
        print(os.getpid(), file=file)
"""
EARLY = """
import os
import pytest

def write(config, what):
    with open(config.rootpath / "ran", "a") as file:
        print(os.getpid(), what, file=file)

@pytest.mark.parametrize("number", range(40))
def test_is_not(number, pytestconfig): write(pytestconfig, "other")

@pytest.mark.early
def test_is_early(pytestconfig): write(pytestconfig, "early")
"""
SHARING = """
import os
import pytest

@pytest.fixture(scope="module")
def server(pytestconfig):
    with open(pytestconfig.rootpath / "started", "a") as file:
        print(os.getpid(), file=file)

@pytest.mark.parametrize("number", range(40))
def test_asks_the_server(number, server): pass

@pytest.mark.parametrize("number", range(40))
def test_does_not(number): pass
"""
TELL_OF_FAILURE = """
import os, pathlib

HERE, FIRST = pathlib.Path(__file__).parent, os.getpid()

def pytest_runtest_logreport(report):
    if report.failed and os.getpid() == FIRST:
        (HERE / "heard").touch()
"""
FIRST_FAILS = f"""
import pytest

def test_fails(): assert 0

@pytest.mark.parametrize("number", range({TESTS}))
def test_comes_later(number, pytestconfig):
    while not (pytestconfig.rootpath / "heard").exists(): pass
"""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """pytest over one file, with nothing of this project but the plugin."""

    def run(code: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        (tmp_path / "test_it.py").write_text(code)
        (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  apart\n  ci\n  early\n")
        output = tmp_path / "output"
        with output.open("w") as file:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-p", "tests.support.processes", *arguments],
                cwd=tmp_path,
                env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
                | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
                stdout=file,  # not a pipe, which a process that is left would keep open
                stderr=file,
                text=True,
                check=False,
                timeout=PATIENCE,
            )
        done.stdout = output.read_text()
        return done

    return run


def test_every_test_runs_once_in_a_process_of_its_own(run: Run, tmp_path: Path) -> None:
    done = run(MANY, "--processes=3")
    assert done.returncode == 0, done.stdout
    assert f"{TESTS} passed" in done.stdout
    ran = [line.split() for line in (tmp_path / "ran").read_text().splitlines()]
    assert sorted(int(number) for number, *_ in ran) == list(range(TESTS))
    assert len({parent for *_, parent in ran}) == 1
    assert {process for _, process, _ in ran}.isdisjoint(parent for *_, parent in ran)


def test_tests_apart_share_no_process_with_others(run: Run, tmp_path: Path) -> None:
    done = run(APART, "--processes=2")
    assert done.returncode == 0, done.stdout
    assert "80 passed" in done.stdout
    apart, others = ((tmp_path / name).read_text().split() for name in ("apart", "others"))
    assert len(apart) == len(others) == 40
    assert set(apart).isdisjoint(others)


def test_an_early_test_is_the_first_of_its_process(run: Run, tmp_path: Path) -> None:
    done = run(EARLY, "--processes=2")
    assert done.returncode == 0, done.stdout
    ran = [line.split() for line in (tmp_path / "ran").read_text().splitlines()]
    (process,) = [process for process, what in ran if what == "early"]
    assert next(what for who, what in ran if who == process) == "early"


def test_slow_tests_come_before_others_and_after_early_ones(run: Run, tmp_path: Path) -> None:
    slow = "@pytest.mark.ci\ndef test_is_slow(pytestconfig): write(pytestconfig, 'slow')\n"
    done = run(EARLY + slow, "--processes=2")
    assert done.returncode == 0, done.stdout
    ran = [line.split() for line in (tmp_path / "ran").read_text().splitlines()]
    assert len(ran) == 42
    for process in {process for process, _ in ran}:
        took = [["early", "slow", "other"].index(what) for who, what in ran if who == process]
        assert took == sorted(took)


def test_what_is_set_up_once_for_a_file_is_set_up_once(run: Run, tmp_path: Path) -> None:
    done = run(SHARING, "--processes=3")
    assert done.returncode == 0, done.stdout
    assert "80 passed" in done.stdout
    assert len((tmp_path / "started").read_text().split()) == 1


def test_failures_and_skips_are_shown_as_if_one_process_ran_them(run: Run, tmp_path: Path) -> None:
    done = run(MIXED, "--processes=2", "-rs")
    assert done.returncode == 1
    assert "1 failed, 1 passed, 1 skipped" in done.stdout
    assert "assert 1 == 2" in done.stdout
    assert "words before" in done.stdout
    assert "logged words" in done.stdout
    assert "Logging error" not in done.stdout
    assert "unseen words" not in done.stdout
    assert "not here" in done.stdout
    assert list(tmp_path.glob("tidied-*"))


@pytest.mark.parametrize("code", [3, 0])
def test_a_process_that_ends_fails_the_test_that_it_ran(run: Run, code: int) -> None:
    done = run(f"import os\ndef test_dies(): os._exit({code})\n", "--processes=2")
    assert done.returncode == 1
    assert "1 failed" in done.stdout
    assert "test_dies" in done.stdout
    assert f"its process ended with {code}" in done.stdout


def test_what_a_killed_process_leaves_running_is_not_waited_for(run: Run, tmp_path: Path) -> None:
    done = run(ORPHAN, "--processes=2")
    os.kill(int((tmp_path / "left").read_text()), signal.SIGKILL)
    assert done.returncode == 1
    assert "its process ended with -9" in done.stdout


@pytest.mark.parametrize("processes", [2, 8])
def test_an_interrupt_ends_processes_that_have_much_to_say(run: Run, processes: int) -> None:
    """Also while others are still being started."""
    done = run(INTERRUPT, f"--processes={processes}")
    assert done.returncode == pytest.ExitCode.INTERRUPTED, done.stdout


def test_after_the_first_failure_no_more_are_begun_if_asked(run: Run, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(TELL_OF_FAILURE)
    done = run(FIRST_FAILS, "--processes=2", "-x")
    assert done.returncode == 1
    assert "stopping after 1 failures" in done.stdout
    assert f"{TESTS} passed" not in done.stdout
