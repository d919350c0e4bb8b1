"""What a call that waits would change: a diff for a note, its arguments for anything else."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import F

from agents.core.frontmatter import BYTE_ORDER_MARK, set_property
from agents.models import NoteVersion
from agents.models.vault import MAX_PATH_LENGTH
from agents.vault.diffs import TextDiff, diff_texts
from agents.vault.errors import NoteRefused
from agents.vault.folder_index import INDEX_NAME
from agents.vault.listing import normalise_folder
from agents.vault.notes import find_note, notes_for
from agents.vault.paths import make_key

_PATHS = {"vault_write": "path", "vault_move": "old_path"}
"""Tools that change one note, and the argument that names it."""
_INDEX_TOOL = "vault_create_index"


@dataclass(frozen=True, slots=True)
class CallChange:
    """A note before and after; `is_new` if there is none yet."""

    path: str
    diff: TextDiff
    is_new: bool


def find_note_path(name: str, arguments: Mapping[str, Any]) -> str:
    """Return the note that a call changes; empty for calls that change something else."""
    path = arguments.get(_PATHS[name]) if name in _PATHS else None
    if name == _INDEX_TOOL and isinstance(folder := arguments.get("folder"), str):
        with suppress(NoteRefused):  # then it changes nothing
            path = f"{normalise_folder(folder)}{INDEX_NAME}"
    return path if isinstance(path, str) and len(path) <= MAX_PATH_LENGTH else ""


def find_note_version(project_id: UUID, name: str, arguments: Mapping[str, Any]) -> int | None:
    """Return the stored version of the note that a call changes, by its key: numbers begin anew
    when another note comes to its path. 0 if there is none yet; None for calls that change
    something else."""
    if not (path := find_note_path(name, arguments)):
        return None
    notes = notes_for(project_id).filter(key=make_key(path))
    latest = NoteVersion.objects.filter(note__in=notes, number=F("note__version"))
    return latest.values_list("pk", flat=True).first() or 0


def preview_change(project_id: UUID, name: str, arguments: Mapping[str, Any]) -> CallChange | None:
    """Return what a call would change in a note as it is now; None if it does not write one."""
    path, body, title = (arguments.get(key, "") for key in ("path", "body", "title"))
    texts = (path, body, title)
    if name != "vault_write" or not all(isinstance(text, str) for text in texts) or not path:
        return None
    note = find_note(project_id, path) if len(path) <= MAX_PATH_LENGTH else None
    before = note.text.removeprefix(BYTE_ORDER_MARK) if note is not None else ""
    after = set_property(body, "title", title) if title.strip() else body
    return CallChange(path, diff_texts(before, after), note is None)
