"""The notes of one project, as the tools of a run use them."""

import builtins
from collections.abc import Sequence
from uuid import UUID

from agents.vault import listing, notes
from agents.vault.author import Author
from agents.vault.errors import NoteExists, NoteRefused
from agents.vault.frontmatter import BYTE_ORDER_MARK
from agents.vault.note_search import search_notes
from agents.vault.paths import validate_note_path
from agents.vault.service import NoteEntry, Notes, NoteSearchResult


class ProjectNotes(Notes):
    """Notes in rows. Without an author they can only be read."""

    def __init__(self, project_id: UUID, author: Author | None = None) -> None:
        self.project_id = project_id
        self._author = author

    def search(
        self, queries: Sequence[str], limit: int, *, folder: str = "", tag: str = ""
    ) -> NoteSearchResult:
        return search_notes(self.project_id, queries, limit=limit, folder=folder, tag=tag)

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
