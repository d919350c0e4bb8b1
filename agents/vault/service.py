"""What the vault tools need. Tools are known before rows are, so nothing here knows of rows."""

import builtins
from collections.abc import Sequence
from dataclasses import dataclass

from agents.core.ports import Service


@dataclass(frozen=True, slots=True)
class NoteHit:
    """A note that a search found, and the line in it that fits best. `score` is from 0 to 1.

    `heading` holds the headings above the line; first and last line are those of its section.
    """

    path: str
    title: str
    heading: str
    line: int
    snippet: str
    score: float
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class NoteSearchResult:
    """The best notes, best first, and the words that no note of the project has."""

    hits: tuple[NoteHit, ...]
    missing_words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NoteEntry:
    path: str
    title: str


class Notes(Service):
    """What the vault tools need. It raises VaultError, whose message is for the model."""

    def search(
        self, queries: Sequence[str], limit: int, *, folder: str = "", tag: str = ""
    ) -> NoteSearchResult:
        """The best notes for one to four phrasings; only below a folder or with a tag, if given."""
        raise NotImplementedError

    def read(self, path: str) -> str:
        """The whole text of a note."""
        raise NotImplementedError

    def list(self, folder: str = "") -> list[NoteEntry]:
        """The notes in a folder and below it, by path."""
        raise NotImplementedError

    def list_recent(self, limit: int) -> builtins.list[str]:
        """Paths of the notes that were changed last, newest first."""
        raise NotImplementedError

    def write(self, path: str, content: str) -> str | None:
        """Create or replace a note. Returns what it held before, None if it is new."""
        raise NotImplementedError
