"""Notes for tests, as anybody could have written them."""

from agents.models import Note, NoteVersion, Project
from agents.vault.author import Author
from agents.vault.note_writer import NoteChange, write_changes
from agents.vault.notes import create_note


def add_note(project: Project, path: str, text: str = "") -> Note:
    return create_note(project.pk, path, text, Author.importer())


def add_notes(project: Project, **texts: str) -> None:
    """Many at once; names are without `.md`."""
    changes = [
        NoteChange(Note(project=project), f"{name}.md", text, NoteVersion.Action.CREATE)
        for name, text in texts.items()
    ]
    write_changes(project.pk, changes, Author.importer())
