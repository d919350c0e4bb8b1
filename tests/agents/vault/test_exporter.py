"""Taking notes out: nothing is overwritten, nothing is written elsewhere."""

from pathlib import Path
from typing import Any

import pytest

from agents.models import Project
from agents.vault.errors import NoteRefused, NoteUnavailable
from agents.vault.exporter import export_project
from tests.support.notes import add_note


def test_a_link_in_the_folder_is_not_followed(project: Project, tmp_path: Path) -> None:
    add_note(project, "sub/a.md", "x")
    (tmp_path / "out").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out" / "sub").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NoteRefused, match="leads over a link"):
        export_project(project.pk, tmp_path / "out")
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("name", ["out", "out.zip"])
def test_a_full_disk_is_said_and_leaves_no_half_file(
    project: Project, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_note(project, "a.md", "x")

    def refuse(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("agents.vault.exporter.os.replace", refuse)
    with pytest.raises(NoteUnavailable, match="No space left"):
        export_project(project.pk, tmp_path / name)
    monkeypatch.undo()
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith(".part")]
    assert export_project(project.pk, tmp_path / name) == 1
    assert (tmp_path / name).exists()


def test_equal_notes_make_equal_zips(project: Project, tmp_path: Path) -> None:
    add_note(project, "a.md", "x")
    export_project(project.pk, tmp_path / "one.zip")
    export_project(project.pk, tmp_path / "two.zip")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
