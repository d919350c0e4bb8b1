"""Moves notes, attachments and folders, and rewrites the links that would lead elsewhere after it.

All in one transaction. A link is written in the shortest form that leads to the same thing, in the
style it had; headings, blocks and labels stay, and so does everything in code.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar
from uuid import UUID

from django.db import IntegrityError, transaction

from agents.models import Attachment, Note, NoteLink, NoteVersion
from agents.vault.attachments import get_attachment
from agents.vault.author import Author
from agents.vault.errors import NoteExists, NoteRefused, NoteUnavailable
from agents.vault.link_rewriting import LinkRewriter
from agents.vault.links import LinkTarget, build_resolver, load_aliases, load_targets
from agents.vault.listing import normalise_folder
from agents.vault.note_writer import NoteChange, write_changes
from agents.vault.notes import build_conflict, find_note, lock_note, notes_for, refuse_taken_path
from agents.vault.paths import (
    NOTE_SUFFIX,
    make_key,
    make_name_key,
    validate_note_path,
    validate_path,
)

T = TypeVar("T", str, int)
BATCH_SIZE = 500
Moved = Mapping[tuple[Literal["note", "attachment"], int], str]
"""The new paths of notes and attachments, by kind and id."""


@dataclass(frozen=True, slots=True)
class MoveReport:
    """What a move did: the new paths, and the notes whose links were rewritten."""

    paths: tuple[str, ...]
    rewritten: tuple[str, ...]
    link_count: int


def move_note(
    project_id: UUID,
    old_path: str,
    new_path: str,
    author: Author,
    *,
    expected_version: int | None = None,
) -> MoveReport:
    """Move a note; every link that led to it still does."""
    with transaction.atomic():
        note = lock_note(project_id, old_path)
        if note.path.endswith(NOTE_SUFFIX):
            validate_note_path(new_path)
        if expected_version is not None and note.version != expected_version:
            raise build_conflict(note, note.text, expected_version)
        refuse_taken_path(project_id, validate_path(new_path), besides=note)
        return _move(project_id, {("note", note.pk): new_path}, author)


def move_attachment(project_id: UUID, old_path: str, new_path: str, author: Author) -> MoveReport:
    """Move an attachment; every link that led to it still does."""
    with transaction.atomic():
        row = get_attachment(project_id, old_path)
        if make_key(validate_path(new_path)) != row.key:
            refuse_taken_path(project_id, new_path)
        return _move(project_id, {("attachment", row.pk): new_path}, author)


def move_folder(project_id: UUID, old_folder: str, new_folder: str, author: Author) -> MoveReport:
    """Move everything in a folder to another one, which must not have any of it."""
    old, new = normalise_folder(old_folder), normalise_folder(new_folder)
    if not old or make_key(new).startswith(make_key(old)):
        raise NoteRefused("A folder can be moved neither into itself nor from the root.")
    with transaction.atomic():
        targets = [target for target in load_targets(project_id) if _lies_in(target.path, old)]
        if not targets:
            raise NoteUnavailable(f"There is nothing in {old_folder!r}.")
        moved = {(t.kind, t.pk): validate_path(new + t.path[len(old) :]) for t in targets}
        for path in moved.values():
            refuse_taken_path(project_id, path)
        return _move(project_id, moved, author)


def move(project_id: UUID, old_path: str, new_path: str, author: Author) -> MoveReport:
    """Move whatever is at a path: a note, an attachment or a folder."""
    validate_path(old_path.removesuffix("/"))
    if find_note(project_id, old_path):
        return move_note(project_id, old_path, new_path, author)
    files = Attachment.objects.filter(project=project_id, deleted_at__isnull=True)
    if files.filter(key=make_key(old_path)).exists():
        return move_attachment(project_id, old_path, new_path, author)
    return move_folder(project_id, old_path, new_path, author)


def _lies_in(path: str, prefix: str) -> bool:
    return make_key(path).startswith(make_key(prefix))


def _move(project_id: UUID, moved: Moved, author: Author) -> MoveReport:
    before = load_targets(project_id)
    after = [LinkTarget(t.kind, t.pk, moved.get((t.kind, t.pk), t.path)) for t in before]
    old = build_resolver(before, load_aliases(project_id))
    new = build_resolver(after, load_aliases(project_id))
    paths = [target.path for target in before if (target.kind, target.pk) in moved]
    changes: list[NoteChange] = []
    rewritten, link_count = [], 0
    for note in _lock_sources(project_id, moved, [*paths, *moved.values()]):
        path = moved.get(("note", note.pk), note.path)
        text, count = LinkRewriter(note.path, path, old, new).rewrite(note.text)
        if ("note", note.pk) in moved:
            changes.append(NoteChange(note, path, text, NoteVersion.Action.MOVE))
        elif count:
            changes.append(NoteChange(note, path, text, NoteVersion.Action.EDIT))
        if count:
            rewritten.append(path)
            link_count += count
    try:
        write_changes(project_id, changes, author)
        _move_attachments(moved)
    except IntegrityError:  # another process was faster
        raise NoteExists("Something is at the new path already; pass another path.") from None
    return MoveReport(tuple(moved.values()), tuple(rewritten), link_count)


def _lock_sources(project_id: UUID, moved: Moved, paths: Iterable[str]) -> Iterator[Note]:
    """Yield the notes that are moved or may have links to rewrite."""
    names = {make_name_key(path) for path in paths}
    names |= {name.partition("#")[0] for name in names}
    ids = {pk for kind, pk in moved if kind == "note"}
    for some in _cut(names):
        links = NoteLink.objects.filter(project=project_id, name_key__in=some)
        ids.update(links.values_list("source_id", flat=True))
    for some_ids in _cut(ids):
        yield from notes_for(project_id).select_for_update().filter(pk__in=some_ids)


def _cut(values: set[T]) -> Iterator[list[T]]:
    """Cut what a query cannot take at once."""
    every = sorted(values)
    for start in range(0, len(every), BATCH_SIZE):
        yield every[start : start + BATCH_SIZE]


def _move_attachments(moved: Moved) -> None:
    for (kind, pk), path in moved.items():
        if kind == "attachment":
            values = {"path": path, "key": make_key(path), "name_key": make_name_key(path)}
            Attachment.objects.filter(pk=pk).update(**values)
