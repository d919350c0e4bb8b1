"""The notes of a project: where they lie, and the sample that a new one gets."""

import shutil
from functools import lru_cache
from pathlib import Path

from django.conf import settings

from agents.models import Project
from agents.vault.store import SAMPLE_PROJECT, FolderNotes


def get_project_notes(project: Project) -> FolderNotes:
    """The notes of a project."""
    return _open_notes(notes_folder(project))


@lru_cache(maxsize=64)
def _open_notes(folder: Path) -> FolderNotes:
    """One index per folder, kept: making it is slow, refreshing it is not."""
    return FolderNotes(folder, writable=True)


def notes_folder(project: Project) -> Path:
    """Where a project's notes lie."""
    folder: Path = settings.DATA_DIR / "projects" / str(project.pk)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def add_sample_notes(project: Project) -> None:
    shutil.copytree(SAMPLE_PROJECT, notes_folder(project), dirs_exist_ok=True)
