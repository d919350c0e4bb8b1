"""The threads of a project: made by their first entry, added to, archived. Nothing is edited.

    entry = push_entry(project.pk, "power supply", NewEntry("We take LFP.", "decision"), author)

Entries of a thread are numbered 1, 2, 3 and so on; a thread's row is locked while it grows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from agents.models import NoteVersion, SearchDocument, Thread, ThreadEntry
from agents.search.index import SearchableText, index_documents, remove_documents
from agents.vault.author import Author
from agents.vault.errors import ThreadArchived, ThreadNameRefused, ThreadRefused, ThreadUnavailable
from agents.vault.thread_names import make_name_key, validate_name

MAX_ENTRY_BYTES = 64 * 1024
MAX_SUGGESTIONS = 3
Kind = ThreadEntry.Kind
Status = Thread.Status


@dataclass(frozen=True, slots=True)
class NewEntry:
    """What is to be added, as it was given."""

    text: str
    kind: str = Kind.THOUGHT
    at: datetime = field(default_factory=timezone.now)


def threads_for(project_id: UUID) -> QuerySet[Thread]:
    """Return the threads of a project, those that changed last first."""
    return Thread.objects.filter(project=project_id).order_by("-updated_at", "-id")


def find_thread(project_id: UUID, name: str) -> Thread | None:
    """Return the thread of a name, in whatever case; None where there is none."""
    return threads_for(project_id).filter(key=make_name_key(name)).first()


def get_thread(project_id: UUID, name: str) -> Thread:
    """Return the thread of a name, or raise what helps to find it."""
    try:
        found = find_thread(project_id, validate_name(name))
    except ThreadNameRefused as error:
        raise ThreadUnavailable(str(error)) from None
    if found is None:
        raise ThreadUnavailable(f"There is no thread {name!r}.{_suggest(project_id, name)}")
    return found


def _suggest(project_id: UUID, name: str) -> str:
    near = threads_for(project_id).filter(key__contains=make_name_key(name))
    names = list(near.values_list("name", flat=True)[:MAX_SUGGESTIONS])
    return f" Did you mean {' or '.join(map(repr, names))}?" if names else ""


def standing_entries(thread: Thread) -> QuerySet[ThreadEntry]:
    """Return the entries of a thread that were not withdrawn, newest first."""
    return thread.entries.filter(withdrawn_at__isnull=True).order_by("-number")


def push_entry(project_id: UUID, name: str, entry: NewEntry, author: Author) -> ThreadEntry:
    """Add an entry to a thread, which is made if it is new. Refused by one that is archived."""
    return push_entries(project_id, name, [entry], author)[0]


def push_entries(
    project_id: UUID, name: str, entries: Sequence[NewEntry], author: Author
) -> list[ThreadEntry]:
    """Add entries to a thread, in their order, all of them or none."""
    plain = validate_name(name)
    texts = [_validate_entry(entry) for entry in entries]
    with transaction.atomic():
        thread = _lock_thread(project_id, plain, entries[0].at)
        if thread.status == Status.ARCHIVED:
            raise ThreadArchived(
                f"The thread {thread.name!r} is archived and takes no entries; reactivate it in "
                "the library first, or write to another thread."
            )
        rows = [
            _build_row(thread, thread.entry_count + place, entry, text, author)
            for place, (entry, text) in enumerate(zip(entries, texts, strict=True), start=1)
        ]
        ThreadEntry.objects.bulk_create(rows)
        index_documents(project_id, map(_build_searchable_text, rows))
        thread.entry_count += len(rows)
        thread.updated_at = max([thread.updated_at, *(row.at for row in rows)])
        thread.save(update_fields=["entry_count", "updated_at"])
    return rows


def _lock_thread(project_id: UUID, name: str, at: datetime) -> Thread:
    """Return the thread of a name, new if need be, that nobody else can add to meanwhile."""
    key = make_name_key(name)
    values = {"name": name, "created_at": at, "updated_at": at}
    Thread.objects.get_or_create(project_id=project_id, key=key, defaults=values)
    return Thread.objects.order_by().select_for_update().get(project=project_id, key=key)


def _validate_entry(entry: NewEntry) -> str:
    """Return the text as it is kept, or raise ThreadRefused."""
    if entry.kind not in Kind.values:
        raise ThreadRefused(f"{entry.kind[:40]!r} is not a type; pass {', '.join(Kind.values)}.")
    text = entry.text.replace("\r\n", "\n").strip("\n")
    if not text.strip():
        raise ThreadRefused("The entry is empty; write what it should say.")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        size = 0
    if not size or "\0" in text:
        raise ThreadRefused(
            "An entry cannot contain NUL characters or lone surrogates; leave them out."
        )
    if size > MAX_ENTRY_BYTES:
        raise ThreadRefused(
            f"An entry may have {MAX_ENTRY_BYTES:,} bytes at most; write a note, and name it in "
            "the entry."
        )
    return text


def _build_row(
    thread: Thread, number: int, entry: NewEntry, text: str, author: Author
) -> ThreadEntry:
    return ThreadEntry(
        thread=thread,
        number=number,
        kind=entry.kind,
        text=text,
        source=author.source,
        user_id=author.user_id,
        run_id=author.run_id,
        call_id=author.call_id,
        at=entry.at,
    )


def _build_searchable_text(row: ThreadEntry) -> SearchableText:
    return SearchableText(
        kind=SearchDocument.Kind.THREAD,
        source_id=row.pk,
        path=row.thread.name,
        title=row.thread.name,
        extra=row.kind,
        text=row.text,
    )


def set_status(project_id: UUID, name: str, status: Thread.Status) -> Thread:
    """Archive a thread, which keeps all it has and takes no more, or make it active again."""
    thread = get_thread(project_id, name)
    Thread.objects.filter(pk=thread.pk).update(status=status)
    thread.status = status
    return thread


def get_entry(thread: Thread, number: int) -> ThreadEntry:
    found = thread.entries.filter(number=number).select_related("user", "run").first()
    if found is None:
        raise ThreadUnavailable(f"The thread {thread.name!r} has no entry {number}.")
    found.thread = thread
    return found


def entries_by_run(run_id: UUID, call_id: str | None = None) -> QuerySet[ThreadEntry]:
    """Return what a run wrote itself, or one of its calls; not what a person took from it."""
    written = ThreadEntry.objects.filter(run=run_id, source=NoteVersion.Source.RUN).order_by("pk")
    return written if call_id is None else written.filter(call_id=call_id)


def withdraw_entries(entries: QuerySet[ThreadEntry], user_id: int | None) -> list[ThreadEntry]:
    """Take entries back that stand: they keep their numbers, and nobody finds or reads them.

    Where their author was deleted, or the content of their run erased, their text is erased too.
    """
    with transaction.atomic():
        standing = entries.filter(withdrawn_at__isnull=True).order_by("pk")
        rows = list(standing.select_related("thread", "run").select_for_update(of=("self",)))
        for row in rows:
            row.withdrawn_at, row.withdrawn_by_id = timezone.now(), user_id
            if row.user_id is None or (row.run is not None and row.run.is_erased):
                row.text = ""
            remove_documents(row.thread.project_id, SearchDocument.Kind.THREAD, [row.pk])
        ThreadEntry.objects.bulk_update(rows, ["withdrawn_at", "withdrawn_by", "text"])
    return rows
