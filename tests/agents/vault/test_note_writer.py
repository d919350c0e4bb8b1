"""Rows of notes, written by statements of our own: they are as the ORM would have written them."""

from agents.models import Note, NoteAlias, NoteLink, NoteTag, NoteVersion, Project
from agents.vault.author import Author
from agents.vault.note_writer import NoteChange, write_changes
from agents.vault.notes import create_note, save_note


def test_every_column_can_be_read_and_saved_again(project: Project, author: Author) -> None:
    create_note(project.pk, "a.md", "---\naliases: [b]\n---\n#c [[d#e|f]]", author)
    save_note(project.pk, "a.md", "---\naliases: [b]\n---\n#c [[d#e|f]] g", author)
    for model in (Note, NoteVersion, NoteTag, NoteAlias, NoteLink):
        for row in model._default_manager.all():
            row.full_clean(validate_unique=False, validate_constraints=False)
            row.save()
    note = Note.objects.get()
    assert note.created_at < note.updated_at
    assert note.versions.get(number=2).at == note.updated_at


def test_names_that_grow_when_they_are_folded_fit_their_columns(
    project: Project, author: Author
) -> None:
    long = "\u0390" * 190
    text = f"---\naliases: ['{long}']\n---\n#{long} [[{long * 2}|{'x' * 900}]]"
    create_note(project.pk, f"{long[:100]}.md", text, author)
    for model in (Note, NoteTag, NoteAlias, NoteLink):
        model._default_manager.get().full_clean(validate_unique=False, validate_constraints=False)


def test_many_notes_have_their_own_ids(project: Project, author: Author) -> None:
    changes = [
        NoteChange(Note(project=project), f"{n}.md", f"[[{n}]]", NoteVersion.Action.CREATE)
        for n in range(1_100)
    ]
    write_changes(project.pk, changes, author)
    for change in changes[::100]:
        assert Note.objects.get(pk=change.note.pk).path == change.path
        assert change.note.links.get().target == change.path.removesuffix(".md")
