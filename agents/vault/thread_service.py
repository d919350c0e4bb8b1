"""What the thread tools need. Tools are known before rows are, so nothing here knows of rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from agents.core.ports import Service

EntryType = Literal["thought", "decision", "research", "insight"]
StatusFilter = Literal["active", "archived", "all"]


@dataclass(frozen=True, slots=True)
class ThreadSummary:
    """A thread by its name. `entry_count` is the number of its newest entry."""

    name: str
    is_archived: bool
    entry_count: int
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class ListedThreads:
    """The threads that changed last, newest first, and how many there are in all."""

    threads: tuple[ThreadSummary, ...]
    total: int


@dataclass(frozen=True, slots=True)
class EntryText:
    """An entry that stands. `author` is empty if nobody is known to have written it."""

    number: int
    type: str
    text: str
    author: str
    at: datetime


@dataclass(frozen=True, slots=True)
class ThreadReading:
    """The newest entries of a thread, in the order in which they were written."""

    thread: ThreadSummary
    entries: tuple[EntryText, ...]


@dataclass(frozen=True, slots=True)
class EntryHit:
    """An entry that a search found, and the line of it that fits best. `score` is from 0 to 1."""

    thread: str
    is_archived: bool
    number: int
    type: str
    at: datetime
    snippet: str
    score: float


@dataclass(frozen=True, slots=True)
class EntrySearchResult:
    """The best entries, best first, and the words that no entry of the project has."""

    hits: tuple[EntryHit, ...]
    missing_words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EntryPush:
    """What was written, and where."""

    thread: str
    number: int
    type: str

    @property
    def is_new_thread(self) -> bool:
        return self.number == 1


class Threads(Service):
    """What the thread tools need. It raises VaultError, whose message is for the model."""

    def list(self, status: StatusFilter, limit: int) -> ListedThreads:
        """Return the threads that changed last."""
        raise NotImplementedError

    def read(self, name: str, limit: int) -> ThreadReading:
        """Return the newest entries of a thread."""
        raise NotImplementedError

    def search(self, queries: Sequence[str], limit: int) -> EntrySearchResult:
        """Return the best entries for one to four phrasings."""
        raise NotImplementedError

    def push(self, name: str, text: str, type: EntryType, *, call_id: str = "") -> EntryPush:
        """Add an entry to a thread, which is made if it is new."""
        raise NotImplementedError
