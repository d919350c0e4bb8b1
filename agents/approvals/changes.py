"""What a call that waits would change: a diff for a note, its arguments for anything else."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from agents.core.frontmatter import BYTE_ORDER_MARK, set_property
from agents.vault.diffs import TextDiff, diff_texts
from agents.vault.notes import find_note

_PATHS = {"vault_write": "path", "vault_move": "old_path"}
"""Tools that change one note, and the argument that names it."""
MAX_PATH_LENGTH = 500


@dataclass(frozen=True, slots=True)
class CallChange:
    """A note before and after; `is_new` if there is none yet."""

    path: str
    diff: TextDiff
    is_new: bool


def find_note_version(project_id: UUID, name: str, arguments: Mapping[str, Any]) -> int | None:
    """Return the version of the note that a call changes, 0 if there is none yet; None for calls
    that change something else."""
    path = arguments.get(_PATHS.get(name, ""))
    if not isinstance(path, str) or not 0 < len(path) <= MAX_PATH_LENGTH:
        return None
    note = find_note(project_id, path)
    return note.version if note is not None else 0


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
