"""What a folder's page lists."""

import pytest

from chat.library.folder_entries import build_crumbs, list_entries
from tests.chat.factories import member
from tests.support.notes import add_note


@pytest.mark.django_db
def test_folders_come_first_then_notes_then_files() -> None:
    _, project = member("ada")
    for path in ("b.md", "plan/a.md", "plan/old/c.md"):
        add_note(project, path, "# Title\n")
    entries = list_entries(project.pk, "")
    assert [(e.kind, e.path, e.note_count) for e in entries] == [
        ("folder", "plan", 2),
        ("note", "b.md", 0),
    ]
    assert [e.path for e in list_entries(project.pk, "plan")] == ["plan/old", "plan/a.md"]


def test_crumbs_lead_from_the_outside_in() -> None:
    assert [(c.path, c.name) for c in build_crumbs("a/b")] == [("a", "a"), ("a/b", "b")]
    assert build_crumbs("") == []
