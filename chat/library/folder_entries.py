"""Entries of a folder's page: folders first, then notes, then other files."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, overload
from uuid import UUID

from agents.vault.listing import list_folder
from agents.vault.paths import get_name


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """A line of a folder's page."""

    kind: Literal["folder", "note", "file"]
    path: str
    title: str
    note_count: int = 0
    file_count: int = 0

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Crumb:
    """A folder on the way to where one is."""

    path: str
    name: str


class FolderEntries(Sequence[FolderEntry]):
    """What lies directly in a folder. Notes and files are read where a slice wants them."""

    def __init__(self, project_id: UUID, folder: str) -> None:
        listed = list_folder(project_id, folder)
        self._folders = [
            FolderEntry("folder", e.path, e.path.rpartition("/")[2], e.note_count, e.file_count)
            for e in listed.folders
        ]
        self._notes, self._files = listed.notes, listed.attachments
        self._note_count, self._file_count = self._notes.count(), self._files.count()

    def __len__(self) -> int:
        return len(self._folders) + self._note_count + self._file_count

    @overload
    def __getitem__(self, wanted: int) -> FolderEntry: ...
    @overload
    def __getitem__(self, wanted: slice) -> Sequence[FolderEntry]: ...
    def __getitem__(self, wanted: int | slice) -> FolderEntry | Sequence[FolderEntry]:
        if isinstance(wanted, int):
            return self[wanted : wanted + 1][0]
        start, stop, _ = wanted.indices(len(self))
        entries = self._folders[start:stop]
        start, stop = (max(0, place - len(self._folders)) for place in (start, stop))
        if start < self._note_count:
            notes = self._notes[start:stop]
            entries += [FolderEntry("note", e.path, e.title or get_name(e.path)) for e in notes]
        start, stop = (max(0, place - self._note_count) for place in (start, stop))
        files = self._files[start:stop]
        return entries + [FolderEntry("file", e.path, e.path.rpartition("/")[2]) for e in files]


def build_crumbs(folder: str) -> list[Crumb]:
    """Return the folders above a path and it itself, from the outside in."""
    parts = folder.split("/") if folder else []
    return [Crumb("/".join(parts[: n + 1]), part) for n, part in enumerate(parts)]
