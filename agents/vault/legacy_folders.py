"""Notes were files in a folder per project once: each such folder is imported, once.

The folders stay as they were.
"""

import logging
from pathlib import Path

from django.conf import settings

from agents.models import FolderImport, Project
from agents.vault.author import Author
from agents.vault.import_sources import FolderSource
from agents.vault.importer import ImportReport, import_files

logger = logging.getLogger(__name__)


def import_legacy_folders() -> None:
    """Import the folders that have not been. One that was cut off is gone on with."""
    root: Path = settings.DATA_DIR / "projects"
    if not root.is_dir():
        return
    for project in Project.objects.filter(folderimport__isnull=True).exclude(name=""):
        folder = root / str(project.pk)
        if folder.is_dir():
            report = import_files(project.pk, FolderSource(folder), Author.folder())
            _log_report(project, report)
        FolderImport.objects.get_or_create(project=project)


def _log_report(project: Project, report: ImportReport) -> None:
    logger.info(
        "project %s: %d notes and %d other files were taken over from its folder, %d were not",
        project.pk,
        report.created + report.updated,
        report.attachments,
        len(report.skipped),
    )
    for skipped in report.skipped:
        logger.warning("project %s: %r was left out: %s", project.pk, skipped.path, skipped.why)
