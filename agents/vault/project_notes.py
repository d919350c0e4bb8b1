"""The notes of one project, as the tools of a run use them."""

import builtins
from collections.abc import Mapping, Sequence
from uuid import UUID

from agents.core.frontmatter import BYTE_ORDER_MARK, set_property
from agents.models import Note
from agents.vault import listing, moves, notes
from agents.vault.author import Author
from agents.vault.diffs import TextDiff, diff_texts
from agents.vault.errors import NoteChanged, NoteExists, NoteOutdated, NoteRefused
from agents.vault.folder_index import INDEX_NAME, build_index, is_index
from agents.vault.note_search import search_notes
from agents.vault.paths import make_key, validate_note_path
from agents.vault.run_rights import RunRights
from agents.vault.service import NoteEntry, NoteMove, Notes, NoteSearchResult, NoteWrite

_NONE_KNOWN: Mapping[str, int] = {}
MAX_DIFF_LINES = 40
"""Changed lines of somebody else that a model is told."""


class ProjectNotes(Notes):
    """Notes in rows, for one run. Without an author they can only be read.

    It remembers which version of each note was read: what changed since is not overwritten. The
    rights of the person whose run it is are looked at again with every call.
    """

    def __init__(
        self,
        project_id: UUID,
        author: Author | None = None,
        known: Mapping[str, int] = _NONE_KNOWN,
    ) -> None:
        self.project_id = project_id
        self._rights = RunRights(project_id, author)
        self._seen = {make_key(path): version for path, version in known.items()}

    def search(
        self, queries: Sequence[str], limit: int, *, folder: str = "", tag: str = ""
    ) -> NoteSearchResult:
        self._rights.check_can_read()
        return search_notes(self.project_id, queries, limit=limit, folder=folder, tag=tag)

    def read(self, path: str) -> str:
        self._rights.check_can_read()
        note = notes.get_note(self.project_id, path)
        self._seen[note.key] = note.version
        return note.text.removeprefix(BYTE_ORDER_MARK)

    def list(self, folder: str = "") -> builtins.list[NoteEntry]:
        self._rights.check_can_read()
        return listing.list_notes(self.project_id, folder)

    def list_recent(self, limit: int) -> builtins.list[str]:
        self._rights.check_can_read()
        return listing.list_recent(self.project_id, limit)

    def write(self, path: str, body: str, title: str = "", *, call_id: str = "") -> NoteWrite:
        validate_note_path(path)
        text = set_property(body, "title", title) if title.strip() else body
        with self._rights.hold_author(call_id) as author:
            before = notes.find_note(self.project_id, path)
            if before is None:
                return self._create(path, text, author)
            return self._replace(before, text, author, self._seen.get(before.key))

    def _create(self, path: str, text: str, author: Author) -> NoteWrite:
        note = notes.create_note(self.project_id, path, text, author)
        return self._remember(note, "")

    def _replace(self, before: Note, text: str, author: Author, expected: int | None) -> NoteWrite:
        if expected is None:
            raise NoteRefused(
                f"There is a note {before.path!r}, and you have not read it; read it with "
                "vault_read first, or pass another path."
            )
        try:
            note = notes.save_note(
                self.project_id, before.path, text, author, expected_version=expected
            )
        except NoteChanged as conflict:
            changed = _describe_diff(diff_texts(conflict.base, conflict.theirs))
            theirs = conflict.theirs.removeprefix(BYTE_ORDER_MARK)
            raise NoteOutdated(f"{conflict}\n{changed}", before.path, theirs) from None
        return self._remember(note, before.text)

    def _remember(self, note: Note, before: str) -> NoteWrite:
        self._seen[note.key] = note.version
        diff = diff_texts(before, note.text)
        text = note.text.removeprefix(BYTE_ORDER_MARK)
        return NoteWrite(note.path, note.version, diff.added, diff.removed, text)

    def move(self, old_path: str, new_path: str, *, call_id: str = "") -> NoteMove:
        with self._rights.hold_author(call_id) as author:
            report = moves.move(self.project_id, old_path, new_path, author)
        self._forget_moved([old_path, *report.rewritten])
        return NoteMove(report.paths, report.rewritten, report.link_count)

    def _forget_moved(self, paths: Sequence[str]) -> None:
        """Forget what a move rewrote: it is no longer what was read."""
        for path in paths:
            self._seen.pop(make_key(path), None)

    def create_index(
        self, folder: str, title: str, summaries: Mapping[str, str], *, call_id: str = ""
    ) -> NoteWrite:
        with self._rights.hold_author(call_id) as author:
            path = f"{listing.normalise_folder(folder)}{INDEX_NAME}"
            text = self._compose_index(folder, path, title, summaries)
            return self._write_index(path, text, author)

    def _compose_index(
        self, folder: str, path: str, title: str, summaries: Mapping[str, str]
    ) -> str:
        listed = [n for n in self.list(folder) if make_key(n.path) != make_key(path)]
        unknown = {make_key(each): each for each in summaries}
        for note in listed:
            unknown.pop(make_key(note.path), None)
        if unknown:
            raise NoteRefused(f"There is no note {next(iter(unknown.values()))!r} in this folder.")
        if not listed:
            raise NoteRefused(f"There are no notes in {folder!r} to list.")
        return build_index(listing.normalise_folder(folder), title, listed, summaries)

    def _write_index(self, path: str, text: str, author: Author) -> NoteWrite:
        before = notes.find_note(self.project_id, path)
        if before is None:
            return self._create(path, text, author)
        if not is_index(before.text) and before.key not in self._seen:
            raise NoteExists(
                f"{before.path!r} was not made as an index; read it first if it should be replaced."
            )
        expected = self._seen.get(before.key, before.version)
        return self._replace(before, text, author, expected)


def _describe_diff(diff: TextDiff) -> str:
    """Return the lines that changed, as a diff shows them."""
    marks = {"added": "+", "removed": "-"}
    lines = [
        f"{marks[line.kind]} {''.join(part.text for part in line.parts)}"
        for line in diff.lines
        if line.kind in marks
    ]
    more = len(lines) - MAX_DIFF_LINES
    rest = [f"… and {more} more lines"] if more > 0 else []
    return "\n".join(["What changed:", *lines[:MAX_DIFF_LINES], *rest])
