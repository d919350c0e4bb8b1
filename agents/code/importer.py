"""Reads a folder, a checkout or a zip of code into a project, as a mirror that is only read.

Every file is hashed, and what has changed since is parsed. Files are stored in batches, each in a
transaction of its own: what is in is in, and running an import again goes on where it stopped.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from agents.code.collector import pause_collector
from agents.code.file_rows import FileChange, delete_files, prepare_text, write_files
from agents.code.languages import detect_language
from agents.code.parsed_file import PARSER_VERSION, look_at, parse_file
from agents.code.parser_process import ParserProcess
from agents.code.service import CodeError, CodeRefused
from agents.code.sources import CodeSource, FolderFile, ListedFile
from agents.models import CodeCheckout, CodeFile
from agents.models.vault import MAX_PATH_LENGTH
from agents.projects.queries import hold_write_access
from agents.vault.errors import VaultError
from agents.vault.import_sources import ZIP_ERRORS, SkippedFile, SourceFile
from agents.vault.listing import normalise_folder

BATCH_FILES = 200
BATCH_BYTES = 4 * 1024 * 1024
CHUNK_BYTES = 128 * 1024
MAX_FILE_BYTES = 32 * 1024 * 1024
MAX_REPORTED = 200
"""Files that a stored report names for each thing it has to say."""
ReportProgress = Callable[[int, int, str], None]
"""Called with how many files are done, how many there are, and the path of the last one."""


@dataclass(slots=True)
class CodeImportReport:
    """What an import did."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    parsed: int = 0
    commit: str = ""
    words_only: list[SkippedFile] = field(default_factory=list)
    """Files that were not parsed, and why."""
    listed: list[SkippedFile] = field(default_factory=list)
    """Files of which the name alone is known, and why."""
    skipped: list[SkippedFile] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return it as a checkout keeps it: all numbers, and the first of the names."""
        lists = {"words_only": self.words_only, "listed": self.listed, "skipped": self.skipped}
        counts = ("created", "updated", "unchanged", "removed", "parsed")
        return {
            **{name: getattr(self, name) for name in counts},
            **{
                name: {
                    "reasons": dict(Counter(file.why for file in files).most_common(MAX_REPORTED)),
                    "files": [[file.path, file.why] for file in files[:MAX_REPORTED]],
                }
                for name, files in lists.items()
            },
        }


class _Known(NamedTuple):
    """A file as it is stored."""

    path: str
    id: int
    blob_hash: str
    size: int
    reading: str
    note: str
    version: int


def import_code(
    project_id: UUID,
    source: CodeSource,
    *,
    folder: str = "",
    user_id: int | None = None,
    progress: ReportProgress = lambda done, total, path: None,
    parser: ParserProcess | None = None,
) -> CodeImportReport:
    """Make a folder of the project's code what the source is; return what that took.

    With a user, it goes on only while they may change the project.
    """
    try:
        prefix = normalise_folder(folder)
    except VaultError:
        raise CodeRefused(f"{folder!r} is not a folder that code can be put into.") from None
    with parser or ParserProcess() as worker:
        run = _CodeImport(project_id, prefix, user_id, worker)
        checkout = run.begin(source)
        for done, file in enumerate(source.files, start=1):
            run.add(file)
            progress(done, len(source.files), file.path)
        run.finish(checkout, source.commit)
    return run.report


class _CodeImport:
    def __init__(
        self, project_id: UUID, prefix: str, user_id: int | None, parser: ParserProcess
    ) -> None:
        self.report = CodeImportReport()
        self._project_id = project_id
        self._prefix = prefix
        self._user_id = user_id
        self._parser = parser
        self._inner: tuple[str, ...] = ()
        self._known: dict[str, _Known] = {}
        self._batch: list[FileChange] = []
        self._batch_bytes = 0

    def begin(self, source: CodeSource) -> CodeCheckout:
        """Note that a checkout is being read, and see what is known of it."""
        checkouts = CodeCheckout.objects.filter(project=self._project_id)
        with transaction.atomic():
            self._check_can_write()
            values = {
                "origin": source.origin,
                "user_id": self._user_id,
                "started_at": timezone.now(),
                "finished_at": None,
            }
            checkout, _ = checkouts.update_or_create(
                project_id=self._project_id, folder=self._prefix.removesuffix("/"), defaults=values
            )
        others = (f"{name}/" for name in checkouts.values_list("folder", flat=True) if name)
        self._inner = tuple(
            name for name in others if name != self._prefix and name.startswith(self._prefix)
        )
        with pause_collector():
            self._known = {each.path: each for each in self._list_known()}
        return checkout

    def _list_known(self) -> Iterator[_Known]:
        columns = ("path", "pk", "blob_hash", "size", "reading", "reading_note", "parser_version")
        rows = CodeFile.objects.filter(project=self._project_id).values_list(*columns)
        if not self._prefix and not self._inner:
            return map(_Known._make, rows)
        rows = rows.filter(path__startswith=self._prefix)
        return (
            known
            for known in map(_Known._make, rows)
            # SQLite compares without regard to case.
            if known.path.startswith(self._prefix) and not known.path.startswith(self._inner)
        )

    def add(self, file: ListedFile) -> None:
        path = f"{self._prefix}{file.path}"
        if isinstance(file, SkippedFile):
            self.report.skipped.append(file)
        elif self._inner and path.startswith(self._inner):
            self._skip(file, "another checkout is in that folder")
        elif len(path) > MAX_PATH_LENGTH:
            self._skip(file, "a path that is too long")
        else:
            self._add_file(path, file)

    def _add_file(self, path: str, file: SourceFile | FolderFile) -> None:
        known = self._known.get(path)
        try:
            if known and _is_untouched(file, known):
                self._keep(path, known)
                return
            data, size, blob_hash = _read(file)
        except FileNotFoundError:
            self._skip(file, "gone before it could be read")
            return
        except (CodeError, VaultError, *ZIP_ERRORS) as error:
            self._skip(file, str(error) or "cannot be unpacked")
            return
        except OSError as error:
            self._known.pop(path, None)  # it is there: what was read of it before stays
            self._skip(file, f"cannot be read ({error.strerror})")
            return
        now = (blob_hash, size, PARSER_VERSION)
        if known and (known.blob_hash, known.size, known.version) == now:
            self._keep(path, known)
            return
        self._known.pop(path, None)
        self._batch.append(FileChange(path, size, blob_hash, data, known.id if known else None))
        self._batch_bytes += len(data)
        if len(self._batch) >= BATCH_FILES or self._batch_bytes >= BATCH_BYTES:
            self.flush()

    def _keep(self, path: str, known: _Known) -> None:
        del self._known[path]
        self.report.unchanged += 1
        self._note(path, known.reading, known.note)

    def _skip(self, file: SourceFile | FolderFile, why: str) -> None:
        self.report.skipped.append(SkippedFile(file.path, why))

    def _note(self, path: str, reading: str, note: str) -> None:
        """Take into the report how much of a file is known."""
        if reading == CodeFile.Reading.PARSED:
            self.report.parsed += 1
        elif reading == CodeFile.Reading.WORDS:
            self.report.words_only.append(SkippedFile(path, note))
        else:
            self.report.listed.append(SkippedFile(path, note))

    def flush(self) -> None:
        """Parse and analyse what was read, then store it in one transaction."""
        batch, self._batch, self._batch_bytes = self._batch, [], 0
        if not batch:
            return
        with pause_collector():
            for change in batch:
                change.file = look_at(change.path, change.data)
                parse_file(change.file, change.data, self._parser)
                prepare_text(self._project_id, change)
        with pause_collector(), transaction.atomic():
            self._check_can_write()
            write_files(self._project_id, batch)
        for change in batch:
            self._note(change.path, change.file.reading, change.file.note)
            self.report.created += change.known_id is None
            self.report.updated += change.known_id is not None

    def finish(self, checkout: CodeCheckout, commit: str) -> None:
        """Store the rest, remove what is no longer there, and keep the report."""
        self.flush()
        gone = [known.id for known in self._known.values()]
        for start in range(0, len(gone), BATCH_FILES):
            with transaction.atomic():
                self._check_can_write()
                delete_files(self._project_id, gone[start : start + BATCH_FILES])
        self.report.removed = len(gone)
        self.report.commit = commit
        CodeCheckout.objects.filter(pk=checkout.pk).update(
            commit=commit, finished_at=timezone.now(), report=self.report.to_json()
        )

    def _check_can_write(self) -> None:
        if self._user_id is not None and not hold_write_access(self._user_id, self._project_id):
            raise CodeRefused("You may no longer change this project.")


def _is_untouched(file: SourceFile | FolderFile, known: _Known) -> bool:
    """Return whether a file is known as it is, without reading it."""
    if not isinstance(file, FolderFile) or known.version != PARSER_VERSION:
        return False
    return file.is_untouched(known.blob_hash, known.size)


def _read(file: SourceFile | FolderFile) -> tuple[bytes, int, str]:
    """Return the content of a file, its size, and the hash that git gives it.

    All are of what was read here, whatever becomes of the file meanwhile. What is not searched is
    not read, where its size is known without.
    """
    if isinstance(file, FolderFile) and not detect_language(file.path):
        return b"", file.measure(), ""
    chunks, size = [], 0
    with file.open() as opened:
        while chunk := opened.read(CHUNK_BYTES):
            chunks.append(chunk)
            size += len(chunk)
            if size > MAX_FILE_BYTES:
                raise CodeRefused(f"larger than {MAX_FILE_BYTES // 1024 // 1024} MB")
    data = b"".join(chunks)
    digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    digest.update(data)
    return data, size, digest.hexdigest()
