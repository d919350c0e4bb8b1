"""The notes of a project: read, create, save, delete to the trash and bring back.

    note = notes.save_note(project.pk, "plan.md", text, author, expected_version=3)

`NoteChanged` says that somebody else was faster; it carries all three texts for a merge.
"""

from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from agents.models import Attachment, CodeFile, Note, NoteVersion
from agents.vault.author import Author
from agents.vault.errors import NoteChanged, NoteExists, NoteUnavailable
from agents.vault.note_writer import NoteChange, decompress_body, write_changes
from agents.vault.paths import make_key, make_name_key, validate_note_path, validate_path

MAX_SUGGESTIONS = 3


def notes_for(project_id: UUID) -> QuerySet[Note]:
    """Return the notes of a project that are not in the trash."""
    return Note.objects.filter(project=project_id, deleted_at__isnull=True)


def find_note(project_id: UUID, path: str) -> Note | None:
    """Return the note at a path, in whatever case; None where there is none."""
    return notes_for(project_id).filter(key=make_key(path)).first()


def get_note(project_id: UUID, path: str) -> Note:
    """Return the note at a path, or raise what helps to find it."""
    found = find_note(project_id, validate_path(path))
    if found is None:
        raise NoteUnavailable(f"There is no note {path!r}.{_suggest_similar(project_id, path)}")
    return found


def _suggest_similar(project_id: UUID, path: str) -> str:
    if CodeFile.objects.filter(project=project_id, path=path).exists():
        return " It is code: find_definition shows the lines of a name, search_code those that fit."
    same_name = notes_for(project_id).filter(name_key=make_name_key(path))
    near = list(same_name.values_list("path", flat=True)[:MAX_SUGGESTIONS])
    return f" Did you mean {' or '.join(near)}?" if near else " List the notes to see all paths."


def create_note(project_id: UUID, path: str, text: str, author: Author) -> Note:
    """Create a note; raise NoteExists if something is there."""
    validate_note_path(path)
    note = Note(project_id=project_id)
    try:
        with transaction.atomic():
            refuse_taken_path(project_id, path)
            change = NoteChange(note, path, text, NoteVersion.Action.CREATE)
            write_changes(project_id, [change], author)
    except IntegrityError:  # another process was faster
        raise _build_exists(path) from None
    return note


def refuse_taken_path(project_id: UUID, path: str, *, besides: Note | None = None) -> None:
    """Raise NoteExists if a note or an attachment is at a path."""
    key = make_key(path)
    others = notes_for(project_id).filter(key=key)
    if besides is not None:
        others = others.exclude(pk=besides.pk)
    files = Attachment.objects.filter(project=project_id, deleted_at__isnull=True, key=key)
    if others.exists() or files.exists():
        raise _build_exists(path)


def _build_exists(path: str) -> NoteExists:
    return NoteExists(f"There is something at {path!r} already; pass another path.")


def save_note(
    project_id: UUID,
    path: str,
    text: str,
    author: Author,
    *,
    expected_version: int | None = None,
) -> Note:
    """Save the text of a note that exists; the same text again makes no version.

    Raises NoteChanged if the note is not at the version that the writer has seen.
    """
    with transaction.atomic():
        note = lock_note(project_id, path)
        if expected_version is not None and note.version != expected_version:
            raise build_conflict(note, text, expected_version)
        if note.text != text:
            change = NoteChange(note, note.path, text, NoteVersion.Action.EDIT)
            write_changes(project_id, [change], author)
    return note


def lock_note(project_id: UUID, path: str) -> Note:
    """Return a note that nobody else can change before the transaction ends."""
    validate_path(path)
    rows = Note.objects.order_by().select_for_update()
    found = list(rows.filter(project=project_id, key=make_key(path), deleted_at__isnull=True))
    return found[0] if found else get_note(project_id, path)


def build_conflict(note: Note, yours: str, expected: int) -> NoteChanged:
    """Return what a writer is told who has seen an earlier version."""
    base = NoteVersion.objects.filter(note=note, number=expected).first()
    return NoteChanged(
        note.path,
        base=decompress_body(base) if base else "",
        theirs=note.text,
        yours=yours,
        expected=expected,
        version=note.version,
    )


def delete_note(
    project_id: UUID, path: str, author: Author, *, expected_version: int | None = None
) -> Note:
    """Move a note to the trash. Links to it stay as they are, unresolved."""
    with transaction.atomic():
        note = lock_note(project_id, path)
        if expected_version is not None and note.version != expected_version:
            raise build_conflict(note, "", expected_version)
        change = NoteChange(note, note.path, note.text, NoteVersion.Action.DELETE)
        write_changes(project_id, [change], author)
    return note


def trash_for(project_id: UUID) -> QuerySet[Note]:
    """Return what is in the trash, newest first."""
    trashed = Note.objects.filter(project=project_id, deleted_at__isnull=False)
    return trashed.order_by("-deleted_at", "-pk")


def restore_note(project_id: UUID, note_id: int, author: Author) -> Note:
    """Bring a note back from the trash, to where it was."""
    with transaction.atomic():
        note = trash_for(project_id).select_for_update().filter(pk=note_id).first()
        if note is None:
            raise NoteUnavailable("This note is not in the trash.")
        refuse_taken_path(project_id, note.path)
        change = NoteChange(note, note.path, note.text, NoteVersion.Action.RESTORE)
        write_changes(project_id, [change], author)
    return note
