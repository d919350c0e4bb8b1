"""Files that somebody drops on a library page: notes, other files, whole zips."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import PurePosixPath
from typing import IO, Any
from uuid import UUID

from agents.vault.author import Author
from agents.vault.errors import NoteRefused
from agents.vault.import_sources import (
    ZIP_ERRORS,
    FilesSource,
    ImportSource,
    SkippedFile,
    SourceFile,
    ZipSource,
    open_zip,
)
from agents.vault.importer import ImportReport, import_files
from agents.vault.listing import normalise_folder
from agents.vault.paths import validate_path

NOT_A_ZIP = "is not a zip that can be read"


@dataclass(frozen=True, slots=True)
class DroppedFile:
    """A file, the path that it shall have, and its size in bytes."""

    path: str
    content: IO[bytes]
    size: int

    @property
    def is_zip(self) -> bool:
        return self.path.lower().endswith(".zip")


class _FolderSource:
    """What another source gives, inside of a folder of the project."""

    def __init__(self, source: ImportSource, folder: str) -> None:
        self._source = source
        self._folder = folder

    def files(self) -> list[SourceFile | SkippedFile]:
        return [self._move(file) for file in self._source.files()]

    def _move(self, file: SourceFile | SkippedFile) -> SourceFile | SkippedFile:
        if isinstance(file, SkippedFile):
            return file
        try:
            return SourceFile(validate_path(self._folder + file.path), file.open)
        except NoteRefused as refused:
            return SkippedFile(file.path, f"path not allowed: {refused}")


def import_dropped(
    project_id: UUID, dropped: Sequence[DroppedFile], folder: str, author: Author
) -> ImportReport:
    """Import files into a folder of a project; zips are unpacked there."""
    prefix = normalise_folder(folder)
    report = ImportReport()
    plain = [(file.path, _get_opener(file)) for file in dropped if not file.is_zip]
    if plain:
        source = FilesSource(plain)
        _add(report, import_files(project_id, _FolderSource(source, prefix), author))
    for file in dropped:
        if file.is_zip:
            _add(report, _import_zip(project_id, file, prefix, author))
    return report


def _get_opener(file: DroppedFile) -> Callable[[], IO[bytes]]:
    return lambda: file.content


def _import_zip(project_id: UUID, file: DroppedFile, prefix: str, author: Author) -> ImportReport:
    try:
        archive = open_zip(file.content)
    except NoteRefused as refused:
        return ImportReport(skipped=[SkippedFile(file.path, str(refused))])
    except (OSError, *ZIP_ERRORS):
        return ImportReport(skipped=[SkippedFile(file.path, NOT_A_ZIP)])
    source = ZipSource(archive, PurePosixPath(file.path).stem, file.size)
    with archive:
        return import_files(project_id, _FolderSource(source, prefix), author)


def _add(report: ImportReport, more: ImportReport) -> None:
    for field in fields(report):
        setattr(report, field.name, getattr(report, field.name) + getattr(more, field.name))


def serialize_report(report: ImportReport) -> dict[str, Any]:
    """Return a report as a script on the page reads it."""
    return asdict(report)
