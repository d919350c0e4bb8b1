"""What the library shows of a project."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents.models import Project
from agents.vault import listing, notes
from agents.vault.attachments import add_attachment
from agents.vault.author import Author
from agents.vault.errors import NoteRefused
from agents.vault.listing import (
    SubfolderEntry,
    TagCounts,
    list_folder,
    list_notes,
    list_recent,
    notes_with_tag,
)
from tests.support.notes import add_note, add_notes
from tests.support.rows_fetched import count_rows


@pytest.fixture
def library(project: Project) -> Project:
    add_note(project, "Readme.md", "#sea")
    add_note(project, "Plan/Road map.md", "---\ntags: [Sea/Tides, land]\n---\n")
    add_note(project, "Plan/deep/x.md", "#seaside")
    add_attachment(project.pk, "Plan/map.png", [b"x"])
    add_attachment(project.pk, "Pictures/p.png", [b"x"])
    other = Project.objects.create(name="other", slug="other")
    add_note(other, "Plan/secret.md", "#sea")
    return project


def test_a_folder_shows_what_lies_directly_in_it(library: Project) -> None:
    root = list_folder(library.pk)
    assert root.folders == (SubfolderEntry("Pictures", 0, 1), SubfolderEntry("Plan", 2, 1))
    assert [note.path for note in root.notes] == ["Readme.md"]
    plan = list_folder(library.pk, "PLAN/")
    assert [folder.path for folder in plan.folders] == ["Plan/deep"]
    assert [note.path for note in plan.notes] == ["Plan/Road map.md"]
    assert [file.path for file in plan.attachments] == ["Plan/map.png"]


def test_names_that_begin_alike_are_folders_of_their_own(project: Project) -> None:
    for path in ("a/1.md", "a b/2.md", "a-b/3.md", "a0/4.md", "a_/5.md", "Ä%/ü/6.md", "🦀/7.md"):
        add_note(project, path)
    root = list_folder(project.pk)
    assert [folder.note_count for folder in root.folders] == [1] * 7
    for folder in root.folders:
        listed = list_folder(project.pk, folder.path)
        assert len(listed.notes) + len(listed.folders) == 1
    assert list_folder(project.pk, "ä%").folders == (SubfolderEntry("Ä%/ü", 1),)


def test_a_folder_page_does_not_read_what_lies_deeper(library: Project) -> None:
    with CaptureQueriesContext(connection) as few:
        list_folder(library.pk)
    for number in range(20):
        add_note(library, f"Plan/deep/n{number}.md")
    with CaptureQueriesContext(connection) as many:
        assert list_folder(library.pk).folders[1].note_count == 22
    assert len(many) == len(few)


def test_a_list_has_everything_below_a_folder(library: Project) -> None:
    assert [n.path for n in list_notes(library.pk, "plan")] == [
        "Plan/deep/x.md",
        "Plan/Road map.md",
    ]
    assert [n.path for n in list_notes(library.pk, "pla")] == []
    with pytest.raises(NoteRefused):
        list_notes(library.pk, "../x")


def test_a_tag_counts_those_below_it(library: Project) -> None:
    found = {tag.tag: tag.note_count for tag in TagCounts(library.pk)}
    assert {name.lower(): count for name, count in found.items()} == {
        "land": 1,
        "sea": 2,
        "sea/tides": 1,
        "seaside": 1,
    }
    assert {note.path for note in notes_with_tag(library.pk, "#SEA")} == {
        "Readme.md",
        "Plan/Road map.md",
    }


def test_a_page_of_tags_fetches_each_tag_once_however_many_notes_have_it(project: Project) -> None:
    add_notes(project, **{f"n{number}": "#sea/deep #sea #land" for number in range(50)})
    with count_rows() as fetched, CaptureQueriesContext(connection) as asked:
        listed = TagCounts(project.pk)[:200]
    assert {each.tag: each.note_count for each in listed} == {"land": 50, "sea": 50, "sea/deep": 50}
    assert fetched.rows < 10
    assert len(asked) == 3


def test_of_too_many_tags_the_first_are_listed(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MAX_LISTED_TAGS", 3)
    add_note(project, "a.md", "#a #b/c")
    assert not TagCounts(project.pk).is_cut
    add_note(project, "b.md", "#b/d #e")
    listed = TagCounts(project.pk)
    assert ([each.tag for each in listed[:]], listed.is_cut) == (["a", "b", "b/c"], True)
    assert listed[1].note_count == 2


def test_the_newest_changes_come_first(library: Project, author: Author) -> None:
    notes.save_note(library.pk, "readme.md", "new", author)
    assert list_recent(library.pk, 2)[0] == "Readme.md"
