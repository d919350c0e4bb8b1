"""What a run did to notes, call by call or as a whole, and whether it can still be taken back."""

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from agents.models import Note
from agents.vault.diffs import TextDiff, diff_texts
from agents.vault.versions import (
    RunChange,
    changes_of_run,
    is_as_before,
    read_state_before,
    read_version,
)


class ChangeState(StrEnum):
    """Of a change: it stands as the run left it, was taken back, or others wrote since."""

    STANDS = "stands"
    UNDONE = "undone"
    OVERWRITTEN = "overwritten"


@dataclass(frozen=True, slots=True)
class NoteChangeView:
    """A change of one note, to be shown. `path` is where the note is now."""

    change: RunChange
    path: str
    old_path: str
    diff: TextDiff
    state: ChangeState

    @property
    def is_new(self) -> bool:
        return not self.old_path

    @property
    def is_moved(self) -> bool:
        return bool(self.old_path) and self.old_path != self.change.path


def list_changes(run_id: UUID, call_id: str | None = None) -> list[NoteChangeView]:
    """Return what a run changed, or one of its calls, by path."""
    changes = changes_of_run(run_id, call_id)
    notes = Note.objects.in_bulk([change.note_id for change in changes])
    views = [_build_view(notes[change.note_id], change) for change in changes]
    return sorted(views, key=lambda view: view.path)


def _build_view(note: Note, change: RunChange) -> NoteChangeView:
    before = read_state_before(note, change)
    after = read_version(note, change.last)
    return NoteChangeView(
        change=change,
        path=note.path,
        old_path=before.path if before else "",
        diff=diff_texts(before.text if before else "", after),
        state=_get_state(note, change),
    )


def _get_state(note: Note, change: RunChange) -> ChangeState:
    if note.version == change.last:
        return ChangeState.STANDS
    is_back = is_as_before(note, read_state_before(note, change))
    return ChangeState.UNDONE if is_back else ChangeState.OVERWRITTEN
