"""Folders of notes from before: imported once, left as they were."""

from pathlib import Path

import pytest
from django.core.management import call_command

from agents.models import Note, Project
from agents.vault import notes
from agents.vault.author import Author
from agents.vault.legacy_folders import import_legacy_folders


@pytest.fixture
def folder(project: Project, data_folder: Path) -> Path:
    folder = data_folder / "projects" / str(project.pk)
    (folder / "plan").mkdir(parents=True)
    (folder / "plan" / "road map.md").write_bytes(b"# Road\r\n")
    return folder


def test_a_folder_is_imported_once_and_stays(
    project: Project, author: Author, folder: Path
) -> None:
    import_legacy_folders()
    assert notes.get_note(project.pk, "plan/road map.md").text == "# Road\r\n"
    assert (folder / "plan" / "road map.md").read_bytes() == b"# Road\r\n"
    notes.delete_note(project.pk, "plan/road map.md", author)
    import_legacy_folders()
    assert not notes.notes_for(project.pk).exists()


def test_projects_without_a_folder_are_no_trouble(project: Project) -> None:
    import_legacy_folders()
    assert not Note.objects.exists()


def test_the_command_that_asks_imports_them_first(
    project: Project, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat.management.commands.ask._prepare_run", lambda options: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        call_command("ask", "Where?")
    assert Note.objects.get().path == "plan/road map.md"
