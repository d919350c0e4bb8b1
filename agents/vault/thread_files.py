"""Threads as Markdown files: written by an export, read by an import, people can read them too.

The comment above an entry says how many lines its text has, so no text can pass for another entry.
What was changed by hand no longer fits, and is a note like any other.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from uuid import UUID

from django.db import transaction

from agents.models import Thread, ThreadEntry
from agents.vault.author import Author
from agents.vault.errors import ThreadRefused
from agents.vault.threads import (
    Kind,
    NewEntry,
    Status,
    find_thread,
    push_entries,
    set_status,
    withdraw_entries,
)

MAX_PART_CHARS = 400_000
"""A longer thread has several files, each small enough to be imported."""
WITHDRAWN_TEXT = "Withdrawn."
_HEAD = re.compile(r'---\noracle-thread: (".*")\nstatus: (active|archived)\n---\n')
_ENTRY = re.compile(r"<!-- entry (\d{1,9}) (\w+) (\S+) (\d{1,6}) lines( withdrawn)? -->")


@dataclass(frozen=True, slots=True)
class FiledEntry:
    number: int
    entry: NewEntry
    is_withdrawn: bool


@dataclass(frozen=True, slots=True)
class ThreadFile:
    """A thread, or a part of one, as a file has it."""

    name: str
    is_archived: bool
    entries: tuple[FiledEntry, ...]


class FileOutcome(StrEnum):
    """What became of a file: it was added, was there already, or went to a thread of its own."""

    ADDED = "added"
    UNCHANGED = "unchanged"
    CONFLICT = "conflict"


def format_parts(thread: Thread, entries: Iterable[ThreadEntry]) -> Iterator[str]:
    """Yield the texts of a thread's files, entries in their order."""
    name = json.dumps(thread.name, ensure_ascii=False)
    head = f"---\noracle-thread: {name}\nstatus: {thread.status}\n---\n\n# {thread.name}\n"
    part, size = [head], 0
    for entry in entries:
        told = _format_entry(entry)
        if size and size + len(told) > MAX_PART_CHARS:
            yield "".join(part)
            part, size = [head], 0
        part.append(told)
        size += len(told)
    yield "".join(part)


def _format_entry(entry: ThreadEntry) -> str:
    text = "" if entry.withdrawn_at else entry.text
    lines = text.split("\n") if text else []
    by = f", {entry.user.get_username()}" if entry.user else ""
    title = f"## {entry.number}: {entry.get_kind_display()}, {entry.at:%Y-%m-%d}{by}"
    withdrawn = " withdrawn" if entry.withdrawn_at else ""
    facts = f"entry {entry.number} {entry.kind} {entry.at.isoformat()} {len(lines)} lines"
    return "\n".join(["", title, f"<!-- {facts}{withdrawn} -->", *lines, ""])


def parse_thread(text: str) -> ThreadFile | None:
    """Return the thread that a file holds; None if it is a note."""
    head = _HEAD.match(text)
    if head is None:
        return None
    try:
        return ThreadFile(
            json.loads(head[1]), head[2] == Status.ARCHIVED, tuple(_parse_entries(text))
        )
    except (ValueError, OverflowError):
        return None


def _parse_entries(text: str) -> Iterator[FiledEntry]:
    lines = iter(text.split("\n"))
    for line in lines:
        if (found := _ENTRY.fullmatch(line)) is None:
            continue
        count = int(found[4])
        body = [line for line, _ in zip(lines, range(count), strict=False)]
        at, is_withdrawn = datetime.fromisoformat(found[3]).astimezone(UTC), found[5] is not None
        if len(body) != count or bool(count) is is_withdrawn or found[2] not in Kind.values:
            raise ValueError("not as it was exported")
        text = WITHDRAWN_TEXT if is_withdrawn else "\n".join(body)
        yield FiledEntry(int(found[1]), NewEntry(text, found[2], at), is_withdrawn)


def import_thread(project_id: UUID, file: ThreadFile, author: Author) -> FileOutcome:
    """Add what a project does not have yet. What differs becomes a thread of its own."""
    with transaction.atomic():
        if _fits(project_id, file.name, file):
            added = _add_missing(project_id, file.name, file, author)
            return FileOutcome.ADDED if added else FileOutcome.UNCHANGED
        name = name_conflict(file)
        if _fits(project_id, name, file):
            _add_missing(project_id, name, file, author)
    return FileOutcome.CONFLICT


def name_conflict(file: ThreadFile) -> str:
    """Return the name of the thread that a file becomes which differs from what is here."""
    told = "\n".join(f"{each.number} {each.entry.text}" for each in file.entries)
    digest = hashlib.sha256(told.encode(errors="replace")).hexdigest()[:8]
    return f"{file.name[:90].rstrip('. ')} (conflict {digest})"


def _fits(project_id: UUID, name: str, file: ThreadFile) -> bool:
    """Return whether a file goes on where a thread ends, and has what that has."""
    thread = find_thread(project_id, name)
    if thread is None:
        return True
    numbers = [each.number for each in file.entries]
    rows = {row.number: row for row in thread.entries.filter(number__in=numbers)}
    return all(
        each.number > thread.entry_count or _is_same(rows.get(each.number), each)
        for each in file.entries
    )


def _is_same(row: ThreadEntry | None, filed: FiledEntry) -> bool:
    if row is None or row.withdrawn_at is not None or filed.is_withdrawn:
        return row is not None
    return (row.kind, row.text) == (filed.entry.kind, filed.entry.text)


def _add_missing(project_id: UUID, name: str, file: ThreadFile, author: Author) -> bool:
    thread = find_thread(project_id, name)
    count = thread.entry_count if thread else 0
    missing = [each for each in file.entries if each.number > count]
    if not missing:
        return False
    if [each.number for each in missing] != list(range(count + 1, count + 1 + len(missing))):
        raise ThreadRefused(f"entries of {name!r} before it are missing; import all its files")
    if thread is not None and thread.status == Status.ARCHIVED:
        set_status(project_id, name, Status.ACTIVE)
    rows = push_entries(project_id, name, [each.entry for each in missing], author)
    gone = [row.pk for row, each in zip(rows, missing, strict=True) if each.is_withdrawn]
    withdraw_entries(ThreadEntry.objects.filter(pk__in=gone), None)
    if file.is_archived:
        set_status(project_id, name, Status.ARCHIVED)
    return True
