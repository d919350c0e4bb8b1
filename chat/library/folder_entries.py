"""What a folder's page lists: folders first, then notes, then other files."""

from dataclasses import dataclass
from typing import Literal
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


def list_entries(project_id: UUID, folder: str) -> list[FolderEntry]:
    """Return what lies directly in a folder."""
    listed = list_folder(project_id, folder)
    folders = [
        FolderEntry("folder", e.path, e.path.rpartition("/")[2], e.note_count, e.file_count)
        for e in listed.folders
    ]
    notes = [FolderEntry("note", e.path, e.title or get_name(e.path)) for e in listed.notes]
    files = [FolderEntry("file", path, path.rpartition("/")[2]) for path in listed.attachments]
    return folders + notes + files


def build_crumbs(folder: str) -> list[Crumb]:
    """Return the folders above a path and it itself, from the outside in."""
    parts = folder.split("/") if folder else []
    return [Crumb("/".join(parts[: n + 1]), part) for n, part in enumerate(parts)]
