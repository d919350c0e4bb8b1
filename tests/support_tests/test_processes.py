"""Tests shared among processes."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

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


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """pytest over one file, with nothing of this project but the plugin."""

    def run(code: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        (tmp_path / "test_it.py").write_text(code)
        (tmp_path / "pytest.ini").write_text("[pytest]\n")
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "tests.support.processes", *arguments],
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
            | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    return run


def test_every_test_runs_once_in_a_process_of_its_own(run: Run, tmp_path: Path) -> None:
    done = run(MANY, "--processes=3")
    assert done.returncode == 0, done.stdout
    assert f"{TESTS} passed" in done.stdout
    ran = [line.split() for line in (tmp_path / "ran").read_text().splitlines()]
    assert sorted(int(number) for number, *_ in ran) == list(range(TESTS))
    assert len({parent for *_, parent in ran}) == 1
    assert {process for _, process, _ in ran}.isdisjoint(parent for *_, parent in ran)


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


def test_a_process_that_dies_fails_the_test_that_it_ran(run: Run) -> None:
    done = run("import os\ndef test_dies(): os._exit(3)\n", "--processes=2")
    assert done.returncode == 1
    assert "1 failed" in done.stdout
    assert "test_dies" in done.stdout
    assert "its process ended with 3" in done.stdout


def test_after_the_first_failure_no_more_are_begun_if_asked(run: Run, tmp_path: Path) -> None:
    done = run(f"def test_fails(): assert 0\n{MANY}", "--processes=2", "-x")
    assert done.returncode == 1
    assert "stopping after 1 failures" in done.stdout
