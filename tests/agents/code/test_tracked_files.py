"""What git knows of the files of a checkout: those that nobody touched need not be read again."""

import os
from pathlib import Path

import pytest

from agents.code import tracked_files
from agents.code.sources import FolderFile
from agents.code.tracked_files import list_tracked
from agents.models import CodeFile
from tests.agents.code.conftest import ReadIn
from tests.agents.code.test_sources import run_git

LONG_AGO = 1_700_000_000_000_000_000
TEXT = "a = 1\n"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the paths that are opened from here on."""
    paths: list[str] = []
    open_file = FolderFile.open

    def note_and_open(file: FolderFile) -> object:
        paths.append(file.path)
        return open_file(file)

    monkeypatch.setattr(FolderFile, "open", note_and_open)
    return paths


@pytest.fixture
def checkout(folder: Path) -> Path:
    """Return a checkout whose two files are older than its index."""
    for name in ("a.py", "b.py"):
        (folder / name).write_text(TEXT)
        os.utime(folder / name, ns=(LONG_AGO, LONG_AGO))
    run_git(folder, "init", "-q", "-b", "main")
    run_git(folder, "add", ".")
    return folder


def test_what_nobody_touched_is_not_read_again(
    checkout: Path, read_in: ReadIn, opened: list[str]
) -> None:
    read_in()
    assert opened == ["a.py", "b.py"]
    opened.clear()
    assert read_in().unchanged == 2
    assert opened == []


def test_a_change_of_the_same_size_and_time_is_seen(
    checkout: Path, read_in: ReadIn, opened: list[str]
) -> None:
    read_in()
    opened.clear()
    (checkout / "b.py").write_text(TEXT.replace("1", "2"))
    os.utime(checkout / "b.py", ns=(LONG_AGO, LONG_AGO))
    assert read_in().updated == 1
    assert opened == ["b.py"]
    assert CodeFile.objects.get(path="b.py").text == "a = 2\n"


def test_a_file_as_young_as_the_index_is_read(checkout: Path) -> None:
    written = (checkout / ".git" / "index").stat().st_mtime_ns
    os.utime(checkout / "b.py", ns=(written, written))
    run_git(checkout, "add", ".")
    os.utime(checkout / ".git" / "index", ns=(written, written))
    fitting = [
        each.path
        for each in list_tracked(checkout) or []
        if each.fits((checkout / each.path).stat())
    ]
    assert fitting == ["a.py"]


def test_a_file_that_git_has_in_another_form_is_read(
    checkout: Path, read_in: ReadIn, opened: list[str]
) -> None:
    """Git keeps it with other line ends than the folder has."""
    read_in()
    (checkout / ".gitattributes").write_text("*.py text eol=crlf\n")
    (checkout / "b.py").write_bytes(TEXT.replace("\n", "\r\n").encode())
    os.utime(checkout / "b.py", ns=(LONG_AGO, LONG_AGO))
    run_git(checkout, "add", ".")
    assert read_in().updated == 1


def test_a_link_in_the_place_of_a_file_is_not_followed(
    checkout: Path, read_in: ReadIn, opened: list[str]
) -> None:
    read_in()
    (checkout / "b.py").unlink()
    (checkout / "b.py").symlink_to("a.py")
    report = read_in()
    assert [file.path for file in report.skipped] == ["b.py"]


def test_what_is_only_listed_is_not_measured_while_nobody_touched_it(
    checkout: Path, read_in: ReadIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    (checkout / "gauge.png").write_bytes(b"\x89PNG")
    os.utime(checkout / "gauge.png", ns=(LONG_AGO, LONG_AGO))
    run_git(checkout, "add", ".")
    read_in()
    monkeypatch.setattr(FolderFile, "measure", lambda file: pytest.fail("measured"))
    assert read_in().unchanged == 3


def test_a_file_in_a_folder_that_became_a_link_is_not_read(
    checkout: Path, read_in: ReadIn, opened: list[str], tmp_path: Path
) -> None:
    inner, elsewhere = checkout / "lib", tmp_path / "elsewhere"
    inner.mkdir()
    (inner / "c.py").write_text(TEXT)
    run_git(checkout, "add", ".")
    read_in()
    inner.rename(elsewhere)
    (elsewhere / "c.py").write_text("secret = 1\n")
    inner.symlink_to(elsewhere)
    read_in()
    assert CodeFile.objects.get(path="lib/c.py").text == TEXT


def test_a_list_of_git_that_breaks_off_is_not_believed(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = tracked_files._run_git(checkout) or b""
    monkeypatch.setattr(tracked_files, "_run_git", lambda root: listed[:-5])
    assert list_tracked(checkout) is None
