"""Summaries that librarians have written, kept for a person within a project.

A summary is found by what was asked, and is good while every document that it used is what it was.
Rows are signed: one that was changed, or copied from another project, is not believed.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.db.models import Count, Q, QuerySet
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac

from agents.core.chunks import SourceRef
from agents.models import CodeFile, LibrarianSummary, Thread
from agents.projects.queries import can_read_by_id
from agents.tools.librarian import LibrarianReport
from agents.vault.notes import notes_for

MAX_SUMMARIES = 200
"""For each person; those that were not used for longest go first."""
MAX_SUMMARY_CHARS = 40_000
_SALT = "agents.tools.summary_cache.2"
"""With the number of the way in which they are written: older ones may cite what nobody saw."""
_Versions = dict[str, str]
_Document = tuple[str, str]
"""Its kind and its path."""
_Place = dict[str, Any]
"""The other fields of a SourceRef."""


class SummaryCache:
    """The summaries of one person in one project, for a run of theirs."""

    def __init__(self, project_id: UUID, user_id: int) -> None:
        self._project_id = project_id
        self._user_id = user_id

    def find(self, task: str) -> LibrarianReport | None:
        """Return what was written for this task, if it still holds and may be read."""
        if not can_read_by_id(self._user_id, self._project_id):
            return None
        row = self._rows().filter(task_digest=digest_task(task)).first()
        if row is None:
            return None
        if not self._is_ours(row) or not self._is_current(row):
            row.delete()
            return None
        self._rows().filter(pk=row.pk).update(used_at=timezone.now())
        return LibrarianReport(row.text, tuple(_read_places(row.documents)), row.created_at)

    def store(self, task: str, text: str, sources: Iterable[SourceRef]) -> None:
        """Keep a summary with the documents that it used, if there are any and all are there."""
        places = _group_places(sources)
        versions = self._get_versions(list(places))
        if not places or len(versions) < len(places) or len(text) > MAX_SUMMARY_CHARS:
            return
        documents = [
            [kind, path, versions[kind, path], places[kind, path]] for kind, path in sorted(places)
        ]
        row = LibrarianSummary(
            project_id=self._project_id,
            user_id=self._user_id,
            task_digest=digest_task(task),
            text=text,
            documents=documents,
        )
        values = {
            "text": text,
            "documents": documents,
            "signature": sign(row),
            "created_at": timezone.now(),
            "used_at": timezone.now(),
        }
        self._rows().update_or_create(
            values, project_id=self._project_id, user_id=self._user_id, task_digest=row.task_digest
        )
        self._prune()

    def _rows(self) -> QuerySet[LibrarianSummary]:
        return LibrarianSummary.objects.filter(project=self._project_id, user=self._user_id)

    def _is_ours(self, row: LibrarianSummary) -> bool:
        return constant_time_compare(row.signature, sign(row))

    def _is_current(self, row: LibrarianSummary) -> bool:
        """Return whether all that it used is what it was."""
        used = {(kind, path): version for kind, path, version, *_ in row.documents}
        return used == self._get_versions(used)

    def _get_versions(self, documents: Collection[_Document]) -> dict[_Document, str]:
        """Return what the documents are now, without those that are not there."""
        return {
            (kind, path): version
            for kind, read in _VERSIONS.items()
            for path, version in read(
                self._project_id, {path for each, path in documents if each == kind}
            ).items()
        }

    def _prune(self) -> None:
        own = LibrarianSummary.objects.filter(user=self._user_id)
        kept = own.order_by("-used_at", "-id").values_list("pk", flat=True)
        own.filter(pk__in=list(kept[MAX_SUMMARIES : MAX_SUMMARIES + 100])).delete()


def _group_places(sources: Iterable[SourceRef]) -> dict[_Document, list[_Place]]:
    """Return what was used of each document, each place once and without what it leaves out."""
    grouped: dict[_Document, list[_Place]] = {}
    for source in dict.fromkeys(sources):
        named = {name: value for name, value in asdict(source).items() if value not in ("", None)}
        document = named.pop("source_type"), named.pop("path", "")
        grouped.setdefault(document, []).append(named)
    return grouped


def _read_places(documents: Iterable[list[Any]]) -> Iterator[SourceRef]:
    for kind, path, _, places in documents:
        for place in places:
            yield SourceRef(path, kind, **place)


def digest_task(task: str) -> str:
    return hashlib.sha256(task.encode("utf-8", "replace")).hexdigest()


def sign(row: LibrarianSummary) -> str:
    """Return what proves that a row is as it was written here."""
    signed = [str(row.project_id), row.user_id, row.task_digest, row.text, row.documents]
    # PostgreSQL gives the names in a JSON object back in an order of its own.
    signed_text = json.dumps(signed, sort_keys=True)
    return salted_hmac(_SALT, signed_text, algorithm="sha256").hexdigest()


def _note_versions(project_id: UUID, paths: set[str]) -> _Versions:
    return dict(notes_for(project_id).filter(path__in=paths).values_list("path", "sha256"))


def _code_versions(project_id: UUID, paths: set[str]) -> _Versions:
    files = CodeFile.objects.filter(project=project_id, path__in=paths)
    return dict(files.values_list("path", "blob_hash"))


def _thread_versions(project_id: UUID, names: set[str]) -> _Versions:
    withdrawn = Count("entries", filter=Q(entries__withdrawn_at__isnull=False))
    threads = Thread.objects.filter(project=project_id, name__in=names)
    rows = threads.annotate(withdrawn=withdrawn).values_list("name", "entry_count", "withdrawn")
    return {name: f"{entries}-{gone}" for name, entries, gone in rows}


_VERSIONS: dict[str, Callable[[UUID, set[str]], _Versions]] = {
    "vault": _note_versions,
    "code": _code_versions,
    "thread": _thread_versions,
}
"""How to see what a document of each kind is now. What came from the web is not kept."""
