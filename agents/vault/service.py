"""What the vault tools need. Tools are known before rows are, so nothing here knows of rows."""

import builtins
from collections.abc import Mapping, Sequence
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


@dataclass(frozen=True, slots=True)
class NoteWrite:
    """What was written: how many lines came and went, and of what version the note is now."""

    path: str
    version: int
    added: int
    removed: int
    text: str
    """What it says now."""

    @property
    def is_new(self) -> bool:
        return self.version == 1


@dataclass(frozen=True, slots=True)
class NoteMove:
    """Where something is now, and in how many notes how many links were rewritten."""

    paths: tuple[str, ...]
    rewritten: tuple[str, ...]
    link_count: int


class Notes(Service):
    """What the vault tools need. It raises VaultError, whose message is for the model."""

    def search(
        self, queries: Sequence[str], limit: int, *, folder: str = "", tag: str = ""
    ) -> NoteSearchResult:
        """Return the best notes for one to four phrasings, in a folder or with a tag if given."""
        raise NotImplementedError

    def read(self, path: str) -> str:
        """Return the whole text of a note, and remember that it was read."""
        raise NotImplementedError

    def list(self, folder: str = "") -> builtins.list[NoteEntry]:
        """Return the notes in a folder and below it, by path."""
        raise NotImplementedError

    def list_recent(self, limit: int) -> builtins.list[str]:
        """Return the paths of the notes that were changed last, newest first."""
        raise NotImplementedError

    def write(self, path: str, body: str, title: str = "", *, call_id: str = "") -> NoteWrite:
        """Create a note, or replace one that was read and has not changed since."""
        raise NotImplementedError

    def move(self, old_path: str, new_path: str, *, call_id: str = "") -> NoteMove:
        """Move a note, a file or a folder; links to it go with it."""
        raise NotImplementedError

    def create_index(
        self, folder: str, title: str, summaries: Mapping[str, str], *, call_id: str = ""
    ) -> NoteWrite:
        """Write a note that links to each note of a folder, with a sentence about it."""
        raise NotImplementedError
