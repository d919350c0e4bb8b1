"""What a folder's page lists."""

from pathlib import Path
from typing import Any

import pytest

from agents.vault.attachments import add_attachment
from chat.library.folder_entries import FolderEntries, build_crumbs
from tests.chat.factories import member
from tests.support.notes import add_note, add_notes
from tests.support.rows_fetched import count_rows


@pytest.mark.django_db
def test_folders_come_first_then_notes_then_files() -> None:
    _, project = member("ada")
    for path in ("b.md", "plan/a.md", "plan/old/c.md"):
        add_note(project, path, "# Title\n")
    entries = FolderEntries(project.pk, "")
    assert [(e.kind, e.path, e.note_count) for e in entries] == [
        ("folder", "plan", 2),
        ("note", "b.md", 0),
    ]
    assert [e.path for e in FolderEntries(project.pk, "plan")] == ["plan/old", "plan/a.md"]


@pytest.mark.django_db
def test_a_page_of_a_folder_fetches_what_it_shows(settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    _, project = member("ada")
    add_notes(project, **{"in/x": "", **{f"n{number:02}": "" for number in range(50)}})
    for number in range(3):
        add_attachment(project.pk, f"{number}.png", [b"x"])
    entries = FolderEntries(project.pk, "")
    with count_rows() as fetched:
        middle = entries[40:45]
    assert [entry.path for entry in middle] == [f"n{number}.md" for number in range(39, 44)]
    assert fetched.rows == 5
    assert [entry.path for entry in entries[49:60]] == [
        "n48.md",
        "n49.md",
        "0.png",
        "1.png",
        "2.png",
    ]
    assert (len(entries), entries[0].kind, entries[53].path) == (54, "folder", "2.png")
    assert len(list(entries)) == 54


def test_crumbs_lead_from_the_outside_in() -> None:
    assert [(c.path, c.name) for c in build_crumbs("a/b")] == [("a", "a"), ("a/b", "b")]
    assert build_crumbs("") == []
