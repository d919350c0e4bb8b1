"""The sample project that a new site offers."""

from pathlib import Path

from django.contrib.auth.models import User
from django.db import transaction

from agents.models import Note, NoteVersion, Project
from agents.projects.services import create_project
from agents.vault.author import Author
from agents.vault.note_writer import NoteChange, write_changes
from agents.vault.thread_files import import_thread, parse_thread

SAMPLE_PROJECT_NAME = "Tidewatch"
SAMPLE_FOLDER = Path(__file__).parent / "sample_project"


@transaction.atomic
def create_sample_project(user: User) -> Project:
    project = create_project(user, SAMPLE_PROJECT_NAME, is_sample=True)
    add_sample_notes(project)
    return project


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
