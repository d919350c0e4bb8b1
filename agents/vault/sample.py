"""The notes and threads of the sample project."""

from pathlib import Path

from agents.models import Note, NoteVersion, Project
from agents.vault.author import Author
from agents.vault.note_writer import NoteChange, write_changes
from agents.vault.thread_files import import_thread, parse_thread

SAMPLE_FOLDER = Path(__file__).parent / "sample_project"


def add_sample_notes(project: Project) -> None:
    """Give a project without notes and threads those of the sample."""
    changes = []
    for file in sorted(SAMPLE_FOLDER.rglob("*.md")):
        path, text = file.relative_to(SAMPLE_FOLDER).as_posix(), file.read_bytes().decode()
        if (thread := parse_thread(text)) is not None:
            import_thread(project.pk, thread, Author.importer())
        else:
            create = NoteVersion.Action.CREATE
            changes.append(NoteChange(Note(project=project), path, text, create))
    write_changes(project.pk, changes, Author.importer())
