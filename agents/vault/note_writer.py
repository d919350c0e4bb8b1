"""Writes notes: rows, versions, tags, aliases, links and the index, all in one transaction.

Every change of a note goes through here, one note or thousands, so that none is without a version.
"""

import hashlib
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from agents.models import Note, NoteAlias, NoteLink, NoteTag, NoteVersion, SearchDocument
from agents.models.vault import MAX_KEY_LENGTH, MAX_NAME_LENGTH
from agents.search.index import index_documents, remove_documents
from agents.vault.author import Author
from agents.vault.errors import NoteRefused
from agents.vault.link_texts import (
    LinkText,
    iterate_called,
    iterate_renamed,
    list_link_texts,
    load_link_texts,
)
from agents.vault.parsing import Link, ParsedNote, parse_note
from agents.vault.paths import make_key, make_name_key
from agents.vault.row_writer import adapt_time, adapt_uuid, delete_rows, insert_rows, update_rows
from agents.vault.searchable_text import build_searchable_text

MAX_NOTE_BYTES = 2 * 1024 * 1024
COMPRESSION_LEVEL = 1
"""Notes are small and written often: a higher one costs more than it saves."""
BATCH_SIZE = 500
_NOTE_COLUMNS = (
    "path", "key", "name_key", "title", "text", "sha256", "size", "version", "updated_at",
    "deleted_at",
)  # fmt: skip
_VERSION_COLUMNS = (
    "note_id", "number", "path", "body", "sha256", "size", "action", "source", "user_id", "run_id",
    "call_id", "at",
)  # fmt: skip
_LINK_COLUMNS = (
    "project_id", "source_id", "line", "kind", "name_key", "target", "fragment", "label",
)  # fmt: skip


@dataclass(slots=True)
class NoteChange:
    """What one note becomes. A note without an id is new."""

    note: Note
    path: str
    text: str
    action: NoteVersion.Action
    parsed: ParsedNote = field(init=False)
    body: bytes = field(init=False)

    def apply(self, now: datetime) -> None:
        """Give the row its new values."""
        note, encoded = self.note, encode_text(self.text)
        self.parsed = parse_note(self.path, self.text)
        self.body = zlib.compress(encoded, COMPRESSION_LEVEL)
        note.version = note.version + 1 if note.pk else 1
        note.path, note.text, note.title = self.path, self.text, self.parsed.title
        note.key, note.name_key = make_key(self.path), make_name_key(self.path)
        note.sha256, note.size = hashlib.sha256(encoded).hexdigest(), len(encoded)
        note.updated_at = now
        note.deleted_at = now if self.action == NoteVersion.Action.DELETE else None


def encode_text(text: str) -> bytes:
    """Return the bytes of a text; raise NoteRefused if a note cannot hold it."""
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        raise NoteRefused("A note cannot contain lone surrogates; write valid Unicode.") from None
    if b"\0" in encoded:
        raise NoteRefused("A note cannot contain NUL characters; leave them out.")
    if len(encoded) > MAX_NOTE_BYTES:
        raise NoteRefused(f"A note may have {MAX_NOTE_BYTES:,} bytes at most; write two notes.")
    return encoded


@transaction.atomic(savepoint=False)
def write_changes(project_id: UUID, changes: Sequence[NoteChange], author: Author) -> None:
    """Store changes of different notes. The caller has locked those that exist."""
    now = timezone.now()
    for change in changes:
        change.apply(now)
    existing = [change.note for change in changes if change.note.pk]
    texts_before = load_link_texts([note.pk for note in existing])
    if existing:
        update_rows(Note, _NOTE_COLUMNS, map(_list_values, existing))
    _insert_notes(project_id, [change.note for change in changes if not change.note.pk])
    _insert_versions(changes, author, now)
    _replace_details(project_id, changes, [note.pk for note in existing])
    _replace_index(project_id, changes, texts_before)


def _insert_notes(project_id: UUID, notes: list[Note]) -> None:
    """Insert new notes, and give them their ids."""
    project = adapt_uuid(project_id)
    insert_rows(
        Note,
        ("project_id", "created_at", *_NOTE_COLUMNS),
        ((project, adapt_time(note.created_at), *_list_values(note)[:-1]) for note in notes),
    )
    for start in range(0, len(notes), BATCH_SIZE):
        some = notes[start : start + BATCH_SIZE]
        rows = Note.objects.filter(
            project=project_id, deleted_at__isnull=True, key__in=[note.key for note in some]
        )
        ids = dict(rows.order_by().values_list("key", "pk"))
        for note in some:
            note.pk = ids[note.key]


def _list_values(note: Note) -> tuple[Any, ...]:
    names = (note.path, note.key, note.name_key, note.title)
    texts = (note.text, note.sha256, note.size, note.version)
    return (*names, *texts, adapt_time(note.updated_at), adapt_time(note.deleted_at), note.pk)


def _insert_versions(changes: Iterable[NoteChange], author: Author, now: datetime) -> None:
    run_id = adapt_uuid(author.run_id)
    whom = (author.source.value, author.user_id, run_id, author.call_id, adapt_time(now))
    rows = (
        (note.pk, note.version, note.path, body, note.sha256, note.size, action, *whom)
        for note, body, action in ((c.note, c.body, c.action.value) for c in changes)
    )
    insert_rows(NoteVersion, _VERSION_COLUMNS, rows)


def _replace_details(
    project_id: UUID, changes: Iterable[NoteChange], existing: Sequence[int]
) -> None:
    """Store what notes say of themselves and of others. Notes in the trash say nothing."""
    delete_rows(NoteTag, "note_id", existing)
    delete_rows(NoteAlias, "note_id", existing)
    delete_rows(NoteLink, "source_id", existing)
    project = adapt_uuid(project_id)
    live = [(change.note.pk, change.parsed) for change in changes if not change.note.deleted_at]
    insert_rows(
        NoteTag,
        ("project_id", "note_id", "key", "tag"),
        ((project, pk, *pair) for pk, parsed in live for pair in _fold(parsed.tags)),
    )
    insert_rows(
        NoteAlias,
        ("project_id", "note_id", "key", "alias"),
        ((project, pk, *pair) for pk, parsed in live for pair in _fold(parsed.aliases)),
    )
    insert_rows(
        NoteLink,
        _LINK_COLUMNS,
        ((project, pk, *_describe(link)) for pk, parsed in live for link in parsed.links),
    )


def _fold(names: Sequence[str]) -> Iterable[tuple[str, str]]:
    """Return names by their keys: of those that differ only in case, the first."""
    return {make_key(name)[:MAX_NAME_LENGTH]: name for name in reversed(names)}.items()


def _describe(link: Link) -> tuple[Any, ...]:
    name = make_name_key(link.target)[:MAX_KEY_LENGTH]  # folding can make it longer
    place = (link.line + 1, link.kind.value, name)
    return (*place, link.target, link.fragment, link.label)


def _replace_index(
    project_id: UUID, changes: Sequence[NoteChange], texts_before: set[LinkText]
) -> None:
    """Let search find what notes say now and what links call them, and none in the trash."""
    gone = [change.note.pk for change in changes if change.note.deleted_at is not None]
    if gone:
        remove_documents(project_id, SearchDocument.Kind.NOTE, gone)
    live = [(c.note, c.parsed) for c in changes if c.note.deleted_at is None]
    texts = list_link_texts(link for _, parsed in live for link in parsed.links)
    renamed = iterate_renamed(project_id, texts ^ texts_before, [c.note.pk for c in changes])
    read = ((note, parse_note(note.path, note.text)) for note in renamed)
    called = iterate_called(project_id, chain(live, read))
    index_documents(project_id, (build_searchable_text(*each) for each in called))


def decompress_body(version: NoteVersion) -> str:
    """Return the text of a version."""
    return zlib.decompress(bytes(version.body)).decode()
