"""History, and taking back what a run did."""

from dataclasses import replace
from uuid import UUID

import pytest
from django.contrib.auth.models import User

from agents.models import Note, Project
from agents.vault import notes
from agents.vault.author import Author
from agents.vault.errors import NoteChanged, NoteUnavailable
from agents.vault.moves import move_note
from agents.vault.versions import (
    changes_of_run,
    diff_versions,
    history_for,
    read_version,
    restore_version,
    undo_run,
    undo_version,
)
from tests.agents.models.factories import run_of
from tests.support.notes import add_note


@pytest.fixture
def run(project: Project, author: Author) -> UUID:
    return run_of(User.objects.get(), project).pk


@pytest.fixture
def agent(run: UUID, author: Author) -> Author:
    return Author.run(run, author.user_id)


def live(project: Project) -> dict[str, str]:
    return {note.path: note.text for note in notes.notes_for(project.pk)}


def test_the_history_says_who_did_what(project: Project, author: Author, agent: Author) -> None:
    note = notes.create_note(project.pk, "a.md", "one\n", author)
    notes.save_note(project.pk, "a.md", "two\n", agent)
    assert [(v.number, v.source, v.run_id) for v in history_for(note)] == [
        (2, "run", agent.run_id),
        (1, "person", None),
    ]
    diff = diff_versions(note, 1, 2)
    assert (diff.added, diff.removed) == (1, 1)
    assert diff_versions(note, 0, 1).added == 1
    with pytest.raises(NoteUnavailable, match="no version 9"):
        read_version(note, 9)


def test_an_earlier_version_comes_back_as_a_new_one(project: Project, author: Author) -> None:
    note = notes.create_note(project.pk, "a.md", "one", author)
    notes.save_note(project.pk, "a.md", "two", author)
    with pytest.raises(NoteChanged):
        restore_version(note, 1, author, expected_version=1)
    assert restore_version(note, 1, author, expected_version=2).version == 3
    assert live(project) == {"a.md": "one"}
    notes.delete_note(project.pk, "a.md", author)
    restore_version(note, 2, author)
    assert live(project) == {"a.md": "two"}


def test_everything_that_a_run_did_can_be_taken_back(
    project: Project, author: Author, agent: Author, run: UUID
) -> None:
    add_note(project, "edited.md", "before")
    add_note(project, "gone.md", "still wanted")
    add_note(project, "old.md", "moved")
    add_note(project, "linking.md", "[[old]]")
    before = live(project)
    notes.save_note(project.pk, "edited.md", "once", agent)
    notes.save_note(project.pk, "edited.md", "twice", agent)
    notes.delete_note(project.pk, "gone.md", agent)
    move_note(project.pk, "old.md", "new.md", agent)
    notes.create_note(project.pk, "old.md", "in its place", agent)
    assert len(changes_of_run(run)) == 5
    report = undo_run(run, author)
    assert sorted(report.undone) == ["edited.md", "gone.md", "linking.md", "old.md", "old.md"]
    assert report.conflicts == ()
    assert live(project) == before
    assert undo_run(run, author).undone == ()
    assert undo_run(run, author).conflicts == ()


def test_what_somebody_changed_since_is_not_taken_back(
    project: Project, author: Author, agent: Author, run: UUID
) -> None:
    add_note(project, "a.md", "before")
    add_note(project, "b.md", "before")
    for path in ("a.md", "b.md"):
        notes.save_note(project.pk, path, "by the run", agent)
    notes.save_note(project.pk, "a.md", "by ada", author)
    report = undo_run(run, author)
    assert (report.undone, report.conflicts) == (("b.md",), ("a.md",))
    assert live(project) == {"a.md": "by ada", "b.md": "before"}


def test_what_somebody_changed_between_two_changes_of_the_run_is_not_lost(
    project: Project, author: Author, agent: Author, run: UUID
) -> None:
    add_note(project, "a.md", "before")
    notes.save_note(project.pk, "a.md", "by the run", agent)
    notes.save_note(project.pk, "a.md", "by ada", author)
    notes.save_note(project.pk, "a.md", "by the run again", agent)
    assert undo_run(run, author).conflicts == ("a.md",)


def test_what_one_call_did_can_be_taken_back(
    project: Project, author: Author, agent: Author, run: UUID
) -> None:
    notes.create_note(project.pk, "a.md", "x", replace(agent, call_id="c1"))
    notes.create_note(project.pk, "b.md", "x", replace(agent, call_id="c2"))
    assert undo_run(run, author, "c1").undone == ("a.md",)
    assert list(live(project)) == ["b.md"]


def test_a_single_change_can_be_taken_back_while_it_is_the_last(
    project: Project, author: Author, agent: Author
) -> None:
    note = add_note(project, "a.md", "before")
    notes.save_note(project.pk, "a.md", "one", agent)
    notes.save_note(project.pk, "a.md", "two", agent)
    assert undo_version(note, 2, author).conflicts == ("a.md",)
    assert undo_version(note, 3, author).undone == ("a.md",)
    assert live(project) == {"a.md": "one"}


def test_a_path_that_was_taken_meanwhile_is_a_conflict(
    project: Project, author: Author, agent: Author, run: UUID
) -> None:
    note = add_note(project, "a.md", "before")
    notes.delete_note(project.pk, "a.md", agent)
    add_note(project, "a.md", "another")
    assert undo_run(run, author).conflicts == ("a.md",)
    assert Note.objects.get(pk=note.pk).deleted_at is not None
