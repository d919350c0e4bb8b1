"""The sample project that a new site offers: notes, threads and code that tell one story."""

from pathlib import Path

from django.contrib.auth.models import User
from django.db import transaction

from agents.code.importer import import_code
from agents.code.service import CodeError
from agents.code.sources import open_code_source
from agents.models import Project
from agents.projects.errors import ProjectRefused
from agents.projects.services import create_project
from agents.vault.sample import add_sample_notes

SAMPLE_PROJECT_NAME = "Tidewatch"
SAMPLE_CODE_FOLDER = Path(__file__).parent / "code" / "sample_code"


def create_sample_project(user: User) -> Project:
    """Make the sample project of a person, or none of it.

    Its code comes last and not in the same transaction: parsing waits for a process.
    """
    with transaction.atomic():
        project = create_project(user, SAMPLE_PROJECT_NAME, is_sample=True)
        add_sample_notes(project)
    try:
        add_sample_code(project)
    except CodeError as error:
        project.delete()
        raise ProjectRefused(f"The code of the sample cannot be read: {error}") from error
    except Exception:
        project.delete()
        raise
    return project


def add_sample_code(project: Project) -> None:
    """Give a project without code that of the sample."""
    with open_code_source(SAMPLE_CODE_FOLDER) as source:
        source.origin = SAMPLE_PROJECT_NAME.lower()
        import_code(project.pk, source)
