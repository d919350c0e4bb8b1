"""Brings a folder, a zip or dropped files into a project.

Files are stored in batches, each in a transaction of its own: what is in is in, and running an
import again goes on where it stopped. What is there already with the same content is left alone,
and what was changed here since is never overwritten.
"""

import errno
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import IO
from uuid import UUID

from django.db import IntegrityError, OperationalError, transaction
from django.db.models import Max

from agents.models import Attachment, Note, NoteVersion
from agents.projects.queries import hold_write_access
from agents.vault.attachments import (
    GONE_MESSAGE,
    build_attachment,
    delete_attachment,
    drop_rows_without_files,
    store_bytes,
)
from agents.vault.author import Author
from agents.vault.errors import NoteRefused, VaultError, VaultRefused
from agents.vault.import_sources import ZIP_ERRORS, ImportSource, SkippedFile, SourceFile
from agents.vault.note_writer import MAX_NOTE_BYTES, NoteChange, write_changes
from agents.vault.notes import notes_for
from agents.vault.paths import is_note_path, make_key
from agents.vault.thread_files import (
    FileOutcome,
    ThreadFile,
    import_thread,
    name_conflict,
    parse_thread,
)

BATCH_FILES = 250
BATCH_BYTES = 8 * 1024 * 1024
CHUNK_BYTES = 1024 * 1024
STOPPED = (
    "{what} cannot be stored ({why}). Files imported so far are kept; make room, then run the "
    "import again."
)
TWICE_MESSAGE = "a file with this path already exists"
CHANGING_MESSAGE = (
    "Somebody else is changing the same files. Files imported so far are kept; run the import "
    "again."
)
NO_LONGER_MESSAGE = "You may no longer change this project. Files imported so far are kept."
_DISK_IS_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
ReportProgress = Callable[[int, int, str], None]
"""Called with how many files are done, how many there are, and the path of the last one."""


class ImportStopped(VaultError):
    """The disk or the database took no more, or the person may not go on. What is in is in."""


@dataclass(slots=True)
class ImportReport:
    """What an import did."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    attachments: int = 0
    threads: int = 0
    """Files of threads, which an export made, that had something new."""
    conflicts: list[str] = field(default_factory=list)
    """Paths of the copies that were made because both sides had changed."""
    kept_as_files: list[SkippedFile] = field(default_factory=list)
    """Notes by their names that can only be attachments, and why."""
    skipped: list[SkippedFile] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _ReadFile:
    """A file as it was read: a text, or bytes that are stored already."""

    path: str
    key: str
    sha256: str
    size: int
    text: str | None
    why_file: str = ""
    """Why a note by its name is stored as a file."""


def import_files(
    project_id: UUID,
    source: ImportSource,
    author: Author,
    progress: ReportProgress = lambda done, total, path: None,
) -> ImportReport:
    """Import everything from a source; return what was done and what was left out, and why.

    With a person as its author, it goes on only while they may change the project.
    """
    run = _Import(project_id, author)
    files = source.files()
    for done, file in enumerate(files, start=1):
        run.add(file)
        progress(done, len(files), file.path)
    run.flush()
    return run.report


class _Import:
    def __init__(self, project_id: UUID, author: Author) -> None:
        self.report = ImportReport()
        self._project_id = project_id
        self._author = author
        self._seen: dict[str, str] = {}
        self._batch: list[_ReadFile] = []
        self._batch_bytes = 0

    def add(self, file: SourceFile | SkippedFile) -> None:
        if isinstance(file, SkippedFile):
            self.report.skipped.append(file)
            return
        key = make_key(file.path)
        if (before := self._seen.get(key)) is not None:
            same = f"the same path as {before!r} on macOS and Windows"
            self._skip(file.path, TWICE_MESSAGE if before == file.path else same)
            return
        try:
            read = self._read(file, key)
        except (NoteRefused, *ZIP_ERRORS) as error:
            self._skip(file.path, str(error) or "cannot be unpacked")
            return
        except OSError as error:
            self._skip(file.path, f"cannot be read ({error.strerror})")
            return
        self._seen[key] = file.path
        if read.text is not None and (thread := parse_thread(read.text)) is not None:
            self._add_thread(file.path, thread)
            return
        self._batch.append(read)
        self._batch_bytes += read.size if read.text is not None else 0
        if len(self._batch) >= BATCH_FILES or self._batch_bytes >= BATCH_BYTES:
            self.flush()

    def _add_thread(self, path: str, thread: ThreadFile) -> None:
        try:
            with transaction.atomic():
                self._check_can_write()
                outcome = import_thread(self._project_id, thread, self._author)
        except VaultRefused as error:
            self._skip(path, str(error))
            return
        except OperationalError as error:
            raise ImportStopped(STOPPED.format(what=repr(path), why=error)) from error
        self.report.threads += outcome is FileOutcome.ADDED
        self.report.unchanged += outcome is FileOutcome.UNCHANGED
        if outcome is FileOutcome.CONFLICT:
            self.report.conflicts.append(name_conflict(thread))

    def _skip(self, path: str, why: str) -> None:
        self.report.skipped.append(SkippedFile(path, why))

    def _read(self, file: SourceFile, key: str) -> _ReadFile:
        with file.open() as opened:
            if not is_note_path(file.path):
                return self._store(file.path, key, _iterate(opened))
            start = opened.read(MAX_NOTE_BYTES + 1)
            text, why = _decode_note(start)
            if text is None:
                stored = self._store(file.path, key, chain([start], _iterate(opened)))
                return replace(stored, why_file=why)
        return _ReadFile(file.path, key, hashlib.sha256(start).hexdigest(), len(start), text)

    def _store(self, path: str, key: str, chunks: Iterator[bytes]) -> _ReadFile:
        try:
            sha256, size = store_bytes(chunks)
        except OSError as error:
            if error.errno not in _DISK_IS_FULL:
                raise
            raise ImportStopped(STOPPED.format(what=repr(path), why=error.strerror)) from error
        return _ReadFile(path, key, sha256, size, None)

    def flush(self) -> None:
        """Store what was read, in one transaction."""
        batch, self._batch, self._batch_bytes = self._batch, [], 0
        if not batch:
            return
        try:
            outcome = self._write_twice(batch)
        except IntegrityError as error:
            raise ImportStopped(CHANGING_MESSAGE) from error
        except OperationalError as error:
            raise ImportStopped(STOPPED.format(what="A batch", why=error)) from error
        outcome.drop_files_that_are_gone()
        outcome.add_to(self.report)

    def _write_twice(self, batch: list[_ReadFile]) -> "_BatchWriter":
        """Write a batch, once more if somebody else wrote one of its files meanwhile."""
        try:
            return self._write(batch)
        except IntegrityError:
            return self._write(batch)

    def _write(self, batch: list[_ReadFile]) -> "_BatchWriter":
        with transaction.atomic():
            self._check_can_write()
            writer = _BatchWriter(self._project_id, batch)
            writer.write(self._author)
        return writer

    def _check_can_write(self) -> None:
        user_id = self._author.user_id
        if user_id is not None and not hold_write_access(user_id, self._project_id):
            raise ImportStopped(NO_LONGER_MESSAGE)


def _iterate(opened: IO[bytes]) -> Iterator[bytes]:
    while chunk := opened.read(CHUNK_BYTES):
        yield chunk


def _decode_note(data: bytes) -> tuple[str | None, str]:
    """Return the text of a note; else None, and why it can only be an attachment."""
    if len(data) > MAX_NOTE_BYTES:
        return None, f"larger than {MAX_NOTE_BYTES:,} bytes"
    if b"\0" in data:
        return None, "holds NUL characters"
    try:
        return data.decode(), ""
    except UnicodeDecodeError:
        return None, "is not UTF-8"


class _BatchWriter:
    """Compares a batch of files with the rows that are there, and writes the difference."""

    def __init__(self, project_id: UUID, batch: list[_ReadFile]) -> None:
        self._project_id = project_id
        self._batch = batch
        keys = [file.key for file in batch]
        live = Attachment.objects.filter(project=project_id, deleted_at__isnull=True)
        self._notes = self._load_notes(keys)
        self._files = {row.key: row for row in live.filter(key__in=keys)}
        self._changes: list[NoteChange] = []
        self._new_files: list[Attachment] = []
        self._unchanged = 0
        self._conflicts: list[str] = []
        self._skipped: list[SkippedFile] = []

    def _load_notes(self, keys: list[str]) -> dict[str, Note]:
        rows = notes_for(self._project_id).select_for_update().filter(key__in=keys)
        return {row.key: row for row in rows.defer("text")}

    def write(self, author: Author) -> None:
        changed = []
        for file in self._batch:
            if file.key in (self._files if file.text is not None else self._notes):
                self._skipped.append(SkippedFile(file.path, "something else is at that path"))
            elif file.text is None:
                self._add_attachment(file)
            elif (note := self._notes.get(file.key)) is None:
                self._create(file.path, file.text)
            elif note.sha256 != file.sha256:
                changed.append((note, file))
            else:
                self._unchanged += 1
        if changed:
            self._update_all(changed)
        write_changes(self._project_id, self._changes, author)
        Attachment.objects.bulk_create(self._new_files)

    def _create(self, path: str, text: str) -> None:
        note = Note(project_id=self._project_id)
        self._changes.append(NoteChange(note, path, text, NoteVersion.Action.CREATE))

    def _add_attachment(self, file: _ReadFile) -> None:
        before = self._files.get(file.key)
        if before is not None and before.sha256 == file.sha256:
            self._unchanged += 1
            return
        if before is not None:
            delete_attachment(before)
        self._new_files.append(
            build_attachment(self._project_id, file.path, file.sha256, file.size)
        )

    def _update_all(self, changed: list[tuple[Note, _ReadFile]]) -> None:
        imported = _get_imported_hashes([note for note, _ in changed])
        copies = [_name_copy(file) for _, file in changed]
        there = self._load_notes([make_key(copy) for copy in copies])
        for (note, file), copy in zip(changed, copies, strict=True):
            base = imported.get(note.pk)
            if base == note.sha256:  # nobody touched it here
                change = NoteChange(note, note.path, file.text or "", NoteVersion.Action.EDIT)
                self._changes.append(change)
            elif base == file.sha256 or make_key(copy) in there:  # nothing new in the folder
                self._unchanged += 1
            else:
                self._conflicts.append(copy)
                self._create(copy, file.text or "")

    def drop_files_that_are_gone(self) -> None:
        """Take back, once the batch is stored, files whose bytes a purge has removed."""
        for row in drop_rows_without_files(self._new_files):
            self._new_files.remove(row)
            self._skipped.append(SkippedFile(row.path, GONE_MESSAGE))

    def add_to(self, report: ImportReport) -> None:
        created = sum(change.action == NoteVersion.Action.CREATE for change in self._changes)
        report.created += created
        report.updated += len(self._changes) - created
        report.unchanged += self._unchanged
        report.attachments += len(self._new_files)
        report.conflicts += self._conflicts
        report.skipped += self._skipped
        skipped = {each.path for each in self._skipped}
        report.kept_as_files += [
            SkippedFile(file.path, file.why_file)
            for file in self._batch
            if file.why_file and file.path not in skipped
        ]


def _get_imported_hashes(notes: list[Note]) -> dict[int, str]:
    """Return the hash that each note had when it was last imported."""
    sources = (NoteVersion.Source.IMPORT, NoteVersion.Source.FOLDER)
    versions = NoteVersion.objects.filter(note__in=notes, source__in=sources)
    last = versions.values("note").annotate(last=Max("number")).values_list("note", "last")
    numbers = dict(last)
    rows = versions.values_list("note_id", "number", "sha256")
    return {pk: sha256 for pk, number, sha256 in rows if numbers[pk] == number}


def _name_copy(file: _ReadFile) -> str:
    stem, dot, suffix = file.path.rpartition(".")
    return f"{stem} (conflict {file.sha256[:8]}){dot}{suffix}"
