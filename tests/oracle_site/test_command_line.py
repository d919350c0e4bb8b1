"""The command line when its reader has left, and when somebody presses Ctrl-C."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from oracle_site import command_line
from oracle_site.interrupts import end_at_once_on_interrupt
from tests.support.server import ROOT, environment, prepare

LINES = 100_000


PRESS_CTRL_C = """
import os, runpy, signal, sys

pressed_at, sys.argv = sys.argv[1], ["manage.py", *sys.argv[2:]]

class Press:
    def find_spec(self, name, *_):
        if name == pressed_at:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Press())
sys.path.insert(0, "")
runpy.run_path("manage.py", run_name="__main__")
"""
"""Run a command in a process in which Ctrl-C is pressed when a module is imported."""


@pytest.fixture(autouse=True)
def same_handler() -> Iterator[None]:
    """Leave Ctrl-C to pytest."""
    handler = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, handler)


@pytest.fixture
def abandoned(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The standard output is a pipe that nobody reads any more."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        yield
        monkeypatch.undo()


def print_lines(_arguments: list[str]) -> None:
    for number in range(LINES):
        print(number)


def break_another_pipe(_arguments: list[str]) -> None:
    raise BrokenPipeError


@pytest.mark.usefixtures("abandoned")
def test_a_long_list_ends_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_line, "execute_from_command_line", print_lines)
    command_line.run(["manage.py", "runs"])


@pytest.mark.usefixtures("abandoned")
def test_a_list_that_is_still_in_memory_ends_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_line, "execute_from_command_line", lambda _: print("one"))
    command_line.run(["manage.py", "runs"])
    sys.stdout.flush()


def test_another_pipe_that_breaks_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(command_line, "execute_from_command_line", break_another_pipe)
    with (tmp_path / "out").open("w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        with pytest.raises(BrokenPipeError):
            command_line.run(["manage.py", "runs"])
        monkeypatch.undo()


@pytest.mark.ci
@pytest.mark.parametrize("command", [["projects", "list"], ["help"], ["runs"]])
def test_a_command_whose_reader_left_writes_no_traceback(
    command: list[str], tmp_path: Path
) -> None:
    prepare(tmp_path)
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=ROOT, env=environment(tmp_path), stdout=writing, stderr=subprocess.PIPE, check=True,
        )  # fmt: skip
    finally:
        os.close(writing)
    assert done.stderr == b""


# -- Ctrl-C ---------------------------------------------------------------------------------------


@pytest.mark.ci
@pytest.mark.parametrize(
    ("command", "pressed_at"),
    [
        (["serve"], "django.core.management"),
        (["serve"], "agents.models"),
        (["serve"], "oracle_site.server.server"),
        (["serve"], "twisted.internet"),
        (["ask", "Who?"], "pydantic"),
        (["ask", "Who?"], "chat.management.commands.ask"),
        (["runs"], "agents.management.commands.runs"),
        (["migrate"], "agents.migrations"),
    ],
)
def test_ctrl_c_while_a_command_starts_prints_a_line(
    command: list[str], pressed_at: str, tmp_path: Path
) -> None:
    prepare(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", PRESS_CTRL_C, pressed_at, *command],
        cwd=ROOT, env=environment(tmp_path), capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"\nStopped.\n")


def test_ctrl_c_that_a_command_does_not_handle_prints_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def press(_arguments: list[str]) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command_line, "execute_from_command_line", press)
    with pytest.raises(SystemExit) as ended:
        command_line.run(["manage.py", "runs"])
    assert ended.value.code == 130
    assert capsys.readouterr().err == "\nStopped.\n"


def test_a_command_that_has_begun_can_handle_ctrl_c() -> None:
    end_at_once_on_interrupt()
    command_line.CommandLine(["manage.py", "runs"]).fetch_command("runs")
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.ci
@pytest.mark.parametrize("command", [["runs"], ["ask", "Who?"], ["projects", "list"], ["migrate"]])
def test_a_database_that_cannot_be_opened_is_said_in_a_line(
    command: list[str], tmp_path: Path
) -> None:
    """As on a read-only mount."""
    (tmp_path / "oracle.sqlite3").mkdir()
    done = subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=ROOT, env=environment(tmp_path), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == ("The database file cannot be opened. (unable to open database file)\n")
