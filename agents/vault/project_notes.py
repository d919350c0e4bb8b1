"""The notes of one project, as the tools of a run use them."""

import builtins
import threading
from functools import lru_cache
from uuid import UUID

from agents.vault import listing, notes
from agents.vault.author import Author
from agents.vault.errors import NoteExists, NoteRefused
from agents.vault.frontmatter import BYTE_ORDER_MARK
from agents.vault.paths import validate_note_path
from agents.vault.search_index import Document, SearchIndex
from agents.vault.service import NoteEntry, NoteHit, Notes


class ProjectNotes(Notes):
    """Notes in rows. Without an author they can only be read."""

    def __init__(self, project_id: UUID, author: Author | None = None) -> None:
        self.project_id = project_id
        self._author = author

    def search(self, query: str, limit: int) -> list[NoteHit]:
        return _open_index(self.project_id).search(query, limit)

    def read(self, path: str) -> str:
        return notes.get_note(self.project_id, path).text.removeprefix(BYTE_ORDER_MARK)

    def list(self, folder: str = "") -> builtins.list[NoteEntry]:
        return listing.list_notes(self.project_id, folder)

    def list_recent(self, limit: int) -> builtins.list[str]:
        return listing.list_recent(self.project_id, limit)

    def write(self, path: str, content: str) -> str | None:
        if self._author is None:
            raise NoteRefused("These notes can only be read; put what you found into the answer.")
        validate_note_path(path)
        before = notes.find_note(self.project_id, path)
        if before is None:
            try:
                notes.create_note(self.project_id, path, content, self._author)
            except NoteExists:
                before = notes.find_note(self.project_id, path)
                if before is None:
                    raise
        if before is not None:
            notes.save_note(self.project_id, path, content, self._author)
        return before.text if before is not None else None


class _ProjectIndex:
    """An index in memory that follows the rows of a project."""

    def __init__(self, project_id: UUID) -> None:
        self._project_id = project_id
        self._index = SearchIndex()
        self._versions: dict[str, tuple[int, int]] = {}
        self._lock = threading.Lock()  # tools run in threads, side by side

    def search(self, query: str, limit: int) -> list[NoteHit]:
        with self._lock:
            self._refresh()
            return [
                NoteHit(
                    path=found.document.path,
                    title=found.document.title,
                    heading=found.document.heading_at(found.line),
                    line=found.line + 1,
                    snippet=found.snippet,
                    score=found.score,
                )
                for found in self._index.search(query, limit)
            ]

    def _refresh(self) -> None:
        rows = notes.notes_for(self._project_id)
        versions = {path: (pk, n) for path, pk, n in rows.values_list("path", "pk", "version")}
        for gone in self._versions.keys() - versions.keys():
            self._index.remove(gone)
        changed = [versions[p][0] for p in versions if self._versions.get(p) != versions[p]]
        for start in range(0, len(changed), 500):
            some = rows.filter(pk__in=changed[start : start + 500])
            for path, text in some.values_list("path", "text"):
                self._index.add(Document(path, text.removeprefix(BYTE_ORDER_MARK)))
        self._versions = versions


@lru_cache(maxsize=64)
def _open_index(project_id: UUID) -> _ProjectIndex:
    """One index per project, kept: making it is slow, refreshing it is not."""
    return _ProjectIndex(project_id)
