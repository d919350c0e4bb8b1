"""Writes a project's notes, attachments and threads to a folder or a zip, byte for byte.

Nothing that lies there already is overwritten. A folder can be exported to again after a crash:
what is there with the same content counts as done.
"""

import hashlib
import io
import os
import stat
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from agents.models import Attachment
from agents.vault.attachments import iterate_chunks
from agents.vault.errors import NoteRefused, NoteUnavailable
from agents.vault.notes import notes_for
from agents.vault.thread_files import format_parts
from agents.vault.threads import threads_for

CHUNK_BYTES = 1024 * 1024
ZIP_TIME = (1980, 1, 1, 0, 0, 0)
"""Equal notes make equal zips."""
THREADS_FOLDER = "threads"
ReportProgress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file of a project, and how to read it."""

    path: str
    sha256: str
    chunks: Callable[[], Iterable[bytes]]


def iterate_files(project_id: UUID) -> Iterator[ExportedFile]:
    """Yield everything in a project that is not in the trash."""
    for note in notes_for(project_id).order_by("key").iterator(chunk_size=200):
        data = note.text.encode()
        yield ExportedFile(note.path, note.sha256, lambda data=data: [data])  # type: ignore[misc]
    files = Attachment.objects.filter(project=project_id, deleted_at__isnull=True)
    for row in files.order_by("key").iterator(chunk_size=200):
        yield ExportedFile(row.path, row.sha256, lambda row=row: iterate_chunks(row))  # type: ignore[misc]
    yield from _iterate_threads(project_id)


def _iterate_threads(project_id: UUID) -> Iterator[ExportedFile]:
    """Yield threads as Markdown files; those of a long one lie in a folder of its name."""
    folder = _choose_threads_folder(project_id)
    for thread in threads_for(project_id).order_by("key").iterator(chunk_size=200):
        entries = thread.entries.select_related("user").order_by("number").iterator(chunk_size=200)
        for number, text in enumerate(format_parts(thread, entries)):
            data = text.encode()
            path = f"{folder}/{thread.name}{f'/{number + 1:04}' if number else ''}.md"
            digest = hashlib.sha256(data).hexdigest()
            yield ExportedFile(path, digest, lambda data=data: [data])  # type: ignore[misc]


def _choose_threads_folder(project_id: UUID) -> str:
    """Return a folder that no note and no file lies in."""
    files = Attachment.objects.filter(project=project_id, deleted_at__isnull=True)
    name, number = THREADS_FOLDER, 1
    while (
        notes_for(project_id).filter(key__startswith=f"{name}/").exists()
        or files.filter(key__startswith=f"{name}/").exists()
    ):
        number += 1
        name = f"{THREADS_FOLDER} ({number})"
    return name


def count_files(project_id: UUID) -> int:
    files = Attachment.objects.filter(project=project_id, deleted_at__isnull=True)
    return notes_for(project_id).count() + files.count() + threads_for(project_id).count()


def export_project(
    project_id: UUID,
    place: Path,
    progress: ReportProgress = lambda done, total, path: None,
) -> int:
    """Write a project to a folder, or to a zip if the name ends so; return how many files."""
    write = _export_to_zip if place.suffix.lower() == ".zip" else _export_to_folder
    try:
        return write(project_id, place, progress)
    except OSError as error:
        raise NoteUnavailable(
            f"{str(place)!r} cannot be written ({error.strerror}). Make room or choose another "
            "place, then export again."
        ) from error


def _export_to_folder(project_id: UUID, folder: Path, progress: ReportProgress) -> int:
    total, done = count_files(project_id), 0
    folder.mkdir(parents=True, exist_ok=True)
    for done, file in enumerate(iterate_files(project_id), start=1):
        _write_file(folder, file)
        progress(done, total, file.path)
    return done


def _write_file(folder: Path, file: ExportedFile) -> None:
    place = folder / file.path
    if place.parent.resolve() != folder.resolve() / Path(file.path).parent:
        raise NoteRefused(f"{file.path!r} leads over a link in {str(folder)!r}; export elsewhere.")
    if os.path.lexists(place):
        if place.is_symlink() or not place.is_file() or _hash_file(place) != file.sha256:
            raise NoteRefused(
                f"{str(place)!r} is there already and differs; export to an empty folder."
            )
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=place.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.writelines(file.chunks())
        os.chmod(temporary, 0o644)
        os.replace(temporary, place)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _hash_file(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _export_to_zip(project_id: UUID, place: Path, progress: ReportProgress) -> int:
    if os.path.lexists(place):
        raise NoteRefused(f"{str(place)!r} is there already; choose another name.")
    temporary = place.with_name(f".{place.name}.part")
    total, done = count_files(project_id), 0
    try:
        with zipfile.ZipFile(temporary, "w") as archive:
            for done, file in enumerate(iterate_files(project_id), start=1):
                _write_member(archive, file)
                progress(done, total, file.path)
        os.replace(temporary, place)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    return done


def _write_member(archive: zipfile.ZipFile, file: ExportedFile) -> None:
    with archive.open(_build_member(file.path), "w", force_zip64=True) as member:
        for chunk in file.chunks():
            member.write(chunk)


def _build_member(path: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(path, ZIP_TIME)
    info.external_attr = (stat.S_IFREG | 0o644) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


class _Outlet(io.RawIOBase):
    """What a zip is written to that is sent while it is made."""

    def __init__(self) -> None:
        self._written: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._written.append(bytes(data))
        return len(self._written[-1])

    def take(self) -> bytes:
        written, self._written = b"".join(self._written), []
        return written


def stream_zip(project_id: UUID) -> Iterator[bytes]:
    """Yield a zip of a project piece by piece; none of it is kept."""
    outlet = _Outlet()
    with zipfile.ZipFile(outlet, "w") as archive:  # it need not seek
        for file in iterate_files(project_id):
            with archive.open(_build_member(file.path), "w", force_zip64=True) as member:
                for chunk in file.chunks():
                    member.write(chunk)
                    yield outlet.take()
    yield outlet.take()
