"""The threads of one project, as the tools of a run use them."""

from collections.abc import Sequence
from uuid import UUID

from agents.models import Thread, ThreadEntry
from agents.vault.author import Author
from agents.vault.run_rights import RunRights
from agents.vault.thread_search import search_threads
from agents.vault.thread_service import (
    EntryPush,
    EntrySearchResult,
    EntryText,
    EntryType,
    ListedThreads,
    StatusFilter,
    ThreadReading,
    Threads,
    ThreadSummary,
)
from agents.vault.threads import (
    NewEntry,
    Status,
    get_thread,
    push_entry,
    standing_entries,
    threads_for,
)


class ProjectThreads(Threads):
    """Threads in rows, for one run. Without an author they can only be read."""

    def __init__(self, project_id: UUID, author: Author | None = None) -> None:
        self.project_id = project_id
        self._rights = RunRights(project_id, author)

    def list(self, status: StatusFilter, limit: int) -> ListedThreads:
        self._rights.check_can_read()
        found = threads_for(self.project_id)
        if status != "all":
            found = found.filter(status=status)
        return ListedThreads(tuple(map(summarize, found[:limit])), found.count())

    def read(self, name: str, limit: int) -> ThreadReading:
        self._rights.check_can_read()
        thread = get_thread(self.project_id, name)
        newest = standing_entries(thread).select_related("user")[:limit]
        entries = tuple(_describe_entry(entry) for entry in reversed(newest))
        return ThreadReading(summarize(thread), entries)

    def search(self, queries: Sequence[str], limit: int) -> EntrySearchResult:
        self._rights.check_can_read()
        return search_threads(self.project_id, queries, limit=limit)

    def push(self, name: str, text: str, type: EntryType, *, call_id: str = "") -> EntryPush:
        with self._rights.hold_author(call_id) as author:
            entry = push_entry(self.project_id, name, NewEntry(text, type), author)
        return EntryPush(entry.thread.name, entry.number, entry.kind)


def summarize(thread: Thread) -> ThreadSummary:
    is_archived = thread.status == Status.ARCHIVED
    return ThreadSummary(thread.name, is_archived, thread.entry_count, thread.updated_at)


def list_recent_threads(project_id: UUID, limit: int) -> list[ThreadSummary]:
    """Return the active threads that changed last, newest first."""
    active = threads_for(project_id).filter(status=Status.ACTIVE)
    return [summarize(thread) for thread in active[:limit]]


def _describe_entry(entry: ThreadEntry) -> EntryText:
    author = entry.user.get_username() if entry.user else ""
    return EntryText(entry.number, entry.kind, entry.text, author, entry.at)
