"""Notes as rows: every change has a version, nothing is overwritten unseen."""

import pytest
from django.contrib.auth.models import User

from agents.models import Note, NoteAlias, NoteLink, NoteTag, NoteVersion, Project
from agents.vault import notes
from agents.vault.author import Author
from agents.vault.errors import NoteChanged, NoteExists, NoteRefused, NoteUnavailable
from agents.vault.note_writer import MAX_NOTE_BYTES, decompress_body

TEXT = "\ufeff---\r\ntags: [sea]\r\naliases: [Tide]\r\n---\r\n# Ebb\r\n\r\nSee [[Flood]].\r\n"


def actions(note: Note) -> list[str]:
    return list(NoteVersion.objects.filter(note=note).values_list("action", flat=True))


def test_a_text_is_kept_byte_for_byte(project: Project, author: Author) -> None:
    notes.create_note(project.pk, "Plan/Ebb.md", TEXT, author)
    found = notes.get_note(project.pk, "plan/ebb.md")
    assert (found.path, found.text, found.title) == ("Plan/Ebb.md", TEXT, "Ebb")
    assert found.size == len(TEXT.encode())


def test_a_save_makes_a_version_with_its_author(project: Project, author: Author) -> None:
    note = notes.create_note(project.pk, "a.md", "one", author)
    notes.save_note(project.pk, "a.md", "two", author, expected_version=1)
    versions = list(NoteVersion.objects.filter(note=note))
    assert [decompress_body(version) for version in versions] == ["one", "two"]
    assert [(v.number, v.action, v.source) for v in versions] == [
        (1, "create", "person"),
        (2, "edit", "person"),
    ]
    assert {version.user_id for version in versions} == {author.user_id}


def test_the_same_text_again_makes_no_version(project: Project, author: Author) -> None:
    note = notes.create_note(project.pk, "a.md", "one", author)
    assert notes.save_note(project.pk, "a.md", "one", author).version == 1
    assert actions(note) == ["create"]


def test_a_note_that_somebody_else_changed_is_not_overwritten(
    project: Project, author: Author
) -> None:
    notes.create_note(project.pk, "a.md", "base", author)
    notes.save_note(project.pk, "a.md", "theirs", author, expected_version=1)
    with pytest.raises(NoteChanged, match="read it again") as caught:
        notes.save_note(project.pk, "a.md", "yours", author, expected_version=1)
    conflict = caught.value
    assert (conflict.base, conflict.theirs, conflict.yours) == ("base", "theirs", "yours")
    assert (conflict.expected, conflict.version) == (1, 2)
    assert notes.get_note(project.pk, "a.md").text == "theirs"
    with pytest.raises(NoteChanged):
        notes.delete_note(project.pk, "a.md", author, expected_version=1)


@pytest.mark.parametrize("path", ["A.md", "a.md"])
def test_two_notes_cannot_have_one_path(project: Project, author: Author, path: str) -> None:
    notes.create_note(project.pk, "a.md", "one", author)
    with pytest.raises(NoteExists, match="another path"):
        notes.create_note(project.pk, path, "two", author)
    other = Project.objects.create(name="other")
    assert notes.create_note(other.pk, path, "two", author).text == "two"
    assert notes.get_note(project.pk, path).text == "one"


def test_what_a_note_says_is_kept_with_it_and_goes_with_it(
    project: Project, author: Author
) -> None:
    note = notes.create_note(project.pk, "Ebb.md", TEXT, author)
    assert [tag.tag for tag in NoteTag.objects.all()] == ["sea"]
    assert [alias.alias for alias in NoteAlias.objects.all()] == ["Tide"]
    assert [(link.target, link.line) for link in NoteLink.objects.all()] == [("Flood", 7)]
    notes.save_note(project.pk, "Ebb.md", "#land [[Hill]]", author)
    assert [tag.tag for tag in NoteTag.objects.all()] == ["land"]
    assert not NoteAlias.objects.exists()
    assert [link.target for link in NoteLink.objects.all()] == ["Hill"]
    notes.delete_note(project.pk, "Ebb.md", author)
    assert not NoteTag.objects.exists()
    assert not NoteLink.objects.exists()
    notes.restore_note(project.pk, note.pk, author)
    assert [link.target for link in NoteLink.objects.all()] == ["Hill"]


def test_the_trash_gives_back_what_it_holds(project: Project, author: Author) -> None:
    note = notes.create_note(project.pk, "a.md", "one", author)
    notes.delete_note(project.pk, "a.md", author)
    with pytest.raises(NoteUnavailable):
        notes.get_note(project.pk, "a.md")
    assert [trashed.path for trashed in notes.trash_for(project.pk)] == ["a.md"]
    restored = notes.restore_note(project.pk, note.pk, author)
    assert (restored.text, restored.version) == ("one", 3)
    assert actions(note) == ["create", "delete", "restore"]
    with pytest.raises(NoteUnavailable, match="not in the trash"):
        notes.restore_note(project.pk, note.pk, author)


def test_a_path_that_was_taken_meanwhile_is_not_restored_over(
    project: Project, author: Author
) -> None:
    note = notes.create_note(project.pk, "a.md", "one", author)
    notes.delete_note(project.pk, "a.md", author)
    notes.create_note(project.pk, "a.md", "two", author)
    with pytest.raises(NoteExists):
        notes.restore_note(project.pk, note.pk, author)
    assert notes.get_note(project.pk, "a.md").text == "two"


def test_a_missing_note_is_told_with_what_is_near(project: Project, author: Author) -> None:
    notes.create_note(project.pk, "plan/road map.md", "", author)
    with pytest.raises(NoteUnavailable, match=r"Did you mean plan/road map\.md\?"):
        notes.get_note(project.pk, "Road Map.md")
    with pytest.raises(NoteUnavailable, match="List the notes to see all paths"):
        notes.get_note(project.pk, "nothing.md")


def test_a_note_of_two_mebibytes_is_taken_and_a_larger_one_refused(
    project: Project, author: Author
) -> None:
    text = "word " * (MAX_NOTE_BYTES // 5)
    assert MAX_NOTE_BYTES == 2 * 1024 * 1024
    notes.create_note(project.pk, "a.md", text, author)
    assert notes.get_note(project.pk, "a.md").text == text
    with pytest.raises(NoteRefused, match=r"2,097,152 bytes at most"):
        notes.save_note(project.pk, "a.md", "x" * (MAX_NOTE_BYTES + 1), author)


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])
def test_a_text_that_no_file_can_hold_is_refused(
    project: Project, author: Author, text: str
) -> None:
    with pytest.raises(NoteRefused, match="cannot contain"):
        notes.create_note(project.pk, "a.md", text, author)
    assert not Note.objects.exists()


def test_notes_stay_when_their_writer_goes_and_go_with_their_project(
    project: Project, author: Author
) -> None:
    note = notes.create_note(project.pk, "a.md", TEXT, author)
    User.objects.get().delete()
    assert NoteVersion.objects.get(note=note).user_id is None
    assert notes.get_note(project.pk, "a.md").text == TEXT
    project.delete()
    assert not NoteVersion.objects.exists()
    assert not NoteLink.objects.exists()
