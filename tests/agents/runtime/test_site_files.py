"""Files of the operator's that change, break and go while the site runs."""

import errno
import os
from pathlib import Path

import pytest
from pytest_django import Settings

from agents.core.rules.reader import read_rule
from agents.core.rules.rule import Rule
from agents.runtime.site_files import MAX_FILES, SiteFolder, find_twins

GOOD = """[rule]
id = "{name}"
trigger = "on_turn_end"
[[action]]
type = "log"
message = "so"
"""


@pytest.fixture
def folder(tmp_path: Path, settings: Settings) -> Path:
    settings.DATA_DIR = tmp_path
    (tmp_path / "rules").mkdir()
    return tmp_path / "rules"


def write(path: Path, text: str) -> None:
    """Replace a file, with another time than before however quick that was."""
    path.write_text(text)
    moment = write.moment = getattr(write, "moment", 1_000_000_000) + 1  # type: ignore[attr-defined]
    os.utime(path, (moment, moment))


def names(files: SiteFolder[Rule]) -> list[str]:
    return [file.value.id for file in files.load()]


def test_a_folder_that_is_not_there_is_empty(tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR = tmp_path
    files = SiteFolder("rules", read_rule)
    assert files.load() == []
    assert files.find_problems() == []


def test_files_are_read_in_order_and_new_ones_are_seen(folder: Path) -> None:
    files = SiteFolder("rules", read_rule)
    write(folder / "b.toml", GOOD.format(name="second"))
    assert names(files) == ["second"]
    write(folder / "a.toml", GOOD.format(name="first"))
    write(folder / ".hidden.toml", "?")
    write(folder / "notes.txt", "?")
    assert names(files) == ["first", "second"]
    (folder / "b.toml").unlink()
    assert names(files) == ["first"]


def test_of_a_file_that_breaks_the_last_good_version_stays_and_its_place_is_told(
    folder: Path,
) -> None:
    files = SiteFolder("rules", read_rule)
    write(folder / "a.toml", GOOD.format(name="kept"))
    assert names(files) == ["kept"]
    write(folder / "a.toml", GOOD.format(name="kept").replace("on_turn_end", "on_turn_ent"))
    assert names(files) == ["kept"]
    (problem,) = files.find_problems()
    assert str(problem).startswith("rules/a.toml:3:11: ")
    assert "did you mean 'on_turn_end'?" in str(problem)
    assert str(problem).endswith("(the version before is in force)")
    write(folder / "a.toml", GOOD.format(name="mended"))
    assert names(files) == ["mended"]
    assert files.find_problems() == []


def test_of_a_folder_that_cannot_be_read_any_more_all_stays_in_force_and_that_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = SiteFolder("rules", read_rule)
    write(folder / "a.toml", GOOD.format(name="kept"))
    assert names(files) == ["kept"]
    monkeypatch.setattr(os, "listdir", refuse)
    assert names(files) == ["kept"]
    (problem,) = files.find_problems()
    assert str(problem) == (
        "rules:1:1: this cannot be read: Permission denied (the version before is in force)"
    )
    monkeypatch.undo()
    assert files.find_problems() == []


def refuse(path: object) -> list[str]:
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def test_what_is_broken_from_the_start_is_left_out_and_told(folder: Path) -> None:
    files = SiteFolder("rules", read_rule)
    write(folder / "a.toml", "[rule\n")
    (folder / "b.toml").write_bytes(b"\xff\xfe")
    (folder / "c.toml").write_bytes(b"# " + b"x" * 10_000_000)
    (folder / "d.toml").mkdir()
    (folder / "e.toml").symlink_to(folder / "nowhere")
    write(folder / "f.toml", GOOD.format(name="good"))
    assert names(files) == ["good"]
    told = [str(each) for each in files.find_problems()]
    assert [line.split(":")[0] for line in told] == [f"rules/{name}.toml" for name in "abc"]
    assert "not a text in UTF-8" in told[1]
    assert "longer than 16,384 bytes" in told[2]


def test_an_unchanged_file_is_not_read_again(folder: Path) -> None:
    read = []

    def note(text: str) -> str:
        read.append(text)
        return text

    files = SiteFolder("rules", note)
    write(folder / "a.toml", "x")
    for _ in range(3):
        assert [file.value for file in files.load()] == ["x"]
    assert read == ["x"]


def test_a_crowded_folder_is_read_in_part_and_that_is_told(folder: Path) -> None:
    for number in range(MAX_FILES + 5):
        (folder / f"{number:04}.toml").write_text("x")
    files = SiteFolder("rules", str)
    assert len(files.load()) == MAX_FILES
    (problem,) = files.find_problems()
    assert "only the first 200 files" in str(problem)


def test_of_two_files_with_one_id_the_second_is_told_not_to_hold(folder: Path) -> None:
    write(folder / "a.toml", GOOD.format(name="same"))
    write(folder / "b.toml", GOOD.format(name="same").replace("\n", "\r\n"))
    write(folder / "c.toml", GOOD.format(name="taken"))
    files = SiteFolder("rules", read_rule).load()
    assert [str(each) for each in find_twins(files, "rule", {"taken": "a package"})] == [
        "rules/b.toml:2:6: this is not in force: rules/a.toml has the id 'same' too",
        "rules/c.toml:2:6: this is not in force: a package has the id 'taken' too",
    ]
