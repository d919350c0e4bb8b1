"""Writes notes: rows, versions, tags, aliases, links and the index, all in one transaction.

Every change of a note goes through here, one note or thousands, so that none is without a version.
"""

import hashlib
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from agents.models import Note, NoteAlias, NoteLink, NoteTag, NoteVersion, SearchDocument
from agents.search.index import index_documents, remove_documents
from agents.vault.author import Author
from agents.vault.errors import NoteRefused
from agents.vault.parsing import ParsedNote, parse_note
from agents.vault.paths import make_key, make_name_key
from agents.vault.searchable_text import build_searchable_text

MAX_NOTE_BYTES = 2 * 1024 * 1024
COMPRESSION_LEVEL = 1
"""Notes are small and written often: a higher one costs more than it saves."""
BATCH_SIZE = 500


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
        raise NoteRefused("A note cannot hold half characters; write them whole.") from None
    if b"\0" in encoded:
        raise NoteRefused("A note cannot hold NUL characters; leave them out.")
    if len(encoded) > MAX_NOTE_BYTES:
        raise NoteRefused(f"A note may have {MAX_NOTE_BYTES:,} bytes at most; write two notes.")
    return encoded


@transaction.atomic
def write_changes(project_id: UUID, changes: Sequence[NoteChange], author: Author) -> None:
    """Store changes of different notes. The caller has locked those that exist."""
    now = timezone.now()
    for change in changes:
        change.apply(now)
    existing = [change.note for change in changes if change.note.pk]
    new = [change.note for change in changes if not change.note.pk]
    for note in existing:
        note.save(force_update=True)
    Note.objects.bulk_create(new, BATCH_SIZE)
    NoteVersion.objects.bulk_create(
        [_build_version(change, author, now) for change in changes], BATCH_SIZE
    )
    _replace_details(project_id, changes, [note.pk for note in existing])
    _replace_index(project_id, changes)


def _build_version(change: NoteChange, author: Author, now: datetime) -> NoteVersion:
    note = change.note
    return NoteVersion(
        note=note,
        number=note.version,
        path=note.path,
        body=change.body,
        sha256=note.sha256,
        size=note.size,
        action=change.action,
        source=author.source,
        user_id=author.user_id,
        run_id=author.run_id,
        call_id=author.call_id,
        at=now,
    )


def _replace_details(
    project_id: UUID, changes: Iterable[NoteChange], existing: Sequence[int]
) -> None:
    """Store what notes say of themselves and of others. Notes in the trash say nothing."""
    tags: list[NoteTag] = []
    aliases: list[NoteAlias] = []
    links: list[NoteLink] = []
    for change in changes:
        if change.note.deleted_at is None:
            tags += _build_tags(project_id, change)
            aliases += _build_aliases(project_id, change)
            links += _build_links(project_id, change)
    for start in range(0, len(existing), BATCH_SIZE):
        some = existing[start : start + BATCH_SIZE]
        NoteTag.objects.filter(note__in=some).delete()
        NoteAlias.objects.filter(note__in=some).delete()
        NoteLink.objects.filter(source__in=some).delete()
    NoteTag.objects.bulk_create(tags, BATCH_SIZE)
    NoteAlias.objects.bulk_create(aliases, BATCH_SIZE)
    NoteLink.objects.bulk_create(links, BATCH_SIZE)


def _replace_index(project_id: UUID, changes: Iterable[NoteChange]) -> None:
    """Let search find what notes say now, and not those in the trash."""
    gone = [change.note.pk for change in changes if change.note.deleted_at is not None]
    if gone:
        remove_documents(project_id, SearchDocument.Kind.NOTE, gone)
    texts = (
        build_searchable_text(change.note, change.parsed)
        for change in changes
        if change.note.deleted_at is None
    )
    index_documents(project_id, texts)


def _build_tags(project_id: UUID, change: NoteChange) -> list[NoteTag]:
    named = {make_key(tag): tag for tag in reversed(change.parsed.tags)}
    return [
        NoteTag(project_id=project_id, note=change.note, tag=tag, key=key)
        for key, tag in named.items()
    ]


def _build_aliases(project_id: UUID, change: NoteChange) -> list[NoteAlias]:
    named = {make_key(alias): alias for alias in reversed(change.parsed.aliases)}
    return [
        NoteAlias(project_id=project_id, note=change.note, alias=alias, key=key)
        for key, alias in named.items()
    ]


def _build_links(project_id: UUID, change: NoteChange) -> list[NoteLink]:
    return [
        NoteLink(
            project_id=project_id,
            source=change.note,
            line=link.line + 1,
            kind=link.kind,
            name_key=make_name_key(link.target),
            target=link.target,
            fragment=link.fragment,
            label=link.label,
        )
        for link in change.parsed.links
    ]


def decompress_body(version: NoteVersion) -> str:
    """Return the text of a version."""
    return zlib.decompress(bytes(version.body)).decode()
