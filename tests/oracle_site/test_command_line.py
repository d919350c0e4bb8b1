"""The command line when whoever reads it has read enough."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from oracle_site import command_line
from tests.support.server import ROOT, environment, prepare

LINES = 100_000


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
