"""The history of notes: versions, what changed between them, bringing one back, undoing a run."""

from dataclasses import dataclass
from itertools import groupby
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from agents.models import Note, NoteVersion
from agents.vault.author import Author
from agents.vault.diffs import TextDiff, diff_texts
from agents.vault.errors import NoteExists, NoteUnavailable
from agents.vault.note_writer import NoteChange, decompress_body, write_changes
from agents.vault.notes import build_conflict, refuse_taken_path


@dataclass(frozen=True, slots=True)
class RunChange:
    """What a run did to a note, from its first version to its last."""

    note_id: int
    path: str
    action: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class NoteState:
    """Where a note was, and what it said."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class UndoReport:
    """Which notes are as they were, and which could not be because somebody changed them since."""

    undone: tuple[str, ...]
    conflicts: tuple[str, ...]


def history_for(note: Note) -> QuerySet[NoteVersion]:
    """Return the versions of a note, newest first, without their texts."""
    return note.versions.defer("body").select_related("user").order_by("-number")


def get_version(note: Note, number: int) -> NoteVersion:
    found = note.versions.filter(number=number).first()
    if found is None:
        raise NoteUnavailable(f"{note.path!r} has no version {number}.")
    return found


def read_version(note: Note, number: int) -> str:
    """Return the text that a note had."""
    return decompress_body(get_version(note, number))


def diff_versions(note: Note, old: int, new: int) -> TextDiff:
    """Compare two versions of a note; before the first there was nothing."""
    return diff_texts(read_version(note, old) if old else "", read_version(note, new))


def restore_version(
    note: Note, number: int, author: Author, *, expected_version: int | None = None
) -> Note:
    """Give a note the text of an earlier version, as a new one; its path stays."""
    with transaction.atomic():
        locked = Note.objects.select_for_update().get(pk=note.pk)
        text = read_version(locked, number)
        if expected_version is not None and locked.version != expected_version:
            raise build_conflict(locked, text, expected_version)
        if locked.deleted_at is not None:
            refuse_taken_path(locked.project_id, locked.path, besides=locked)
        if locked.text != text or locked.deleted_at is not None:
            change = NoteChange(locked, locked.path, text, NoteVersion.Action.RESTORE)
            write_changes(locked.project_id, [change], author)
    return locked


def changes_of_run(run_id: UUID, call_id: str | None = None) -> list[RunChange]:
    """Return what a run changed, or one of its calls, by note."""
    versions = NoteVersion.objects.filter(run=run_id).defer("body").order_by("note", "number")
    if call_id is not None:
        versions = versions.filter(call_id=call_id)
    changes = []
    for note_id, group in groupby(versions, key=lambda version: version.note_id):
        own = list(group)
        first, last = own[0], own[-1]
        action = first.action if first.action == NoteVersion.Action.CREATE else last.action
        changes.append(RunChange(note_id, last.path, action, first.number, last.number))
    return changes


def undo_run(run_id: UUID, author: Author, call_id: str | None = None) -> UndoReport:
    """Take back what a run did, or one of its calls, unless somebody changed a note since.

    Notes that it created go to the trash. Each undone note has a new version; nothing is lost.
    """
    changes = changes_of_run(run_id, call_id)
    # What it created goes first: something may have been moved away from there.
    changes.sort(key=lambda change: change.action != NoteVersion.Action.CREATE)
    undone, conflicts = [], []
    with transaction.atomic():
        for change in changes:
            note = Note.objects.select_for_update().get(pk=change.note_id)
            is_undone = _undo(note, change, run_id, author)
            if is_undone is None:
                conflicts.append(note.path)
            elif is_undone:
                undone.append(note.path)
    return UndoReport(tuple(undone), tuple(conflicts))


def undo_version(note: Note, number: int, author: Author) -> UndoReport:
    """Take back one change of a note, if it was the last."""
    with transaction.atomic():
        locked = Note.objects.select_for_update().get(pk=note.pk)
        version = get_version(locked, number)
        change = RunChange(locked.pk, version.path, version.action, number, number)
        is_undone = _undo(locked, change, version.run_id, author)
    if is_undone is None:
        return UndoReport((), (locked.path,))
    return UndoReport((locked.path,) if is_undone else (), ())


def _undo(note: Note, change: RunChange, run_id: UUID | None, author: Author) -> bool | None:
    """Bring a note back to what it was before; None if it cannot be, False if it is already."""
    before = read_state_before(note, change)
    if is_as_before(note, before):
        return False
    between = note.versions.filter(number__gt=change.first).exclude(run=run_id)
    if note.version != change.last or between.exists():
        return None
    if before is None:
        undone = NoteChange(note, note.path, note.text, NoteVersion.Action.DELETE)
    else:
        undone = NoteChange(note, before.path, before.text, NoteVersion.Action.RESTORE)
        try:
            refuse_taken_path(note.project_id, before.path, besides=note)
        except NoteExists:
            return None
    write_changes(note.project_id, [undone], author)
    return True


def read_state_before(note: Note, change: RunChange) -> NoteState | None:
    """Return what a note was before a change; None if it was not there."""
    before = note.versions.filter(number=change.first - 1).first()
    if before is None or before.action == NoteVersion.Action.DELETE:
        return None
    return NoteState(before.path, decompress_body(before))


def is_as_before(note: Note, before: NoteState | None) -> bool:
    """Return whether a note is what it was, or gone as it was."""
    if note.deleted_at is not None or before is None:
        return note.deleted_at is not None and before is None
    return (note.path, note.text) == (before.path, before.text)
