"""What the code tools need. Tools are known before rows are, so nothing here knows of rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from agents.core.ports import Service


class CodeError(Exception):
    """It could not be done. The message is for the model and for people: what is wrong, and why."""


class CodeRefused(CodeError):
    """It may not be done, or what was asked for makes no sense."""


class CodeUnavailable(CodeError):
    """There is no such file or checkout."""


class Certainty(StrEnum):
    """How sure it is that a use of a name means the definition that was asked for."""

    CERTAIN = "certain"
    """In the same file, or in one that imports it."""
    LIKELY = "likely"
    """The name has one definition in the project."""
    SAME_NAME = "same name only"


@dataclass(frozen=True, slots=True)
class CodeHit:
    """A file that a search found, and the line in it that fits best. `score` is from 0 to 1."""

    path: str
    language: str
    symbol: str
    """The definition around the line, by its dotted name; empty outside of all."""
    line: int
    snippet: str
    score: float
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class CodeSearchResult:
    """The best files, best first, and the words that no file of the project has."""

    hits: tuple[CodeHit, ...]
    missing_words: tuple[str, ...] = ()
    note: str = ""
    """What was not looked at, and why."""


@dataclass(frozen=True, slots=True)
class Definition:
    """Where a name is defined. `excerpt` holds its first lines, as they are written."""

    path: str
    name: str
    container: str
    kind: str
    line: int
    end_line: int
    signature: str
    excerpt: str = ""

    @property
    def dotted_name(self) -> str:
        return f"{self.container}.{self.name}" if self.container else self.name


@dataclass(frozen=True, slots=True)
class Reference:
    """A line that uses a name."""

    path: str
    line: int
    text: str
    certainty: Certainty


@dataclass(frozen=True, slots=True)
class References:
    """Uses of a name, the surest first, and how many there are in all."""

    definitions: tuple[Definition, ...]
    found: tuple[Reference, ...]
    total: int


@dataclass(frozen=True, slots=True)
class MappedFile:
    path: str
    definitions: tuple[Definition, ...]


@dataclass(frozen=True, slots=True)
class RepoMap:
    """What matters most in a project's code, by path, within a number of tokens."""

    files: tuple[MappedFile, ...]
    token_count: int
    file_count: int
    """Of all files that it was chosen from."""
    definition_count: int
    """Of all definitions that it was chosen from."""


class Code(Service):
    """What the code tools need. It raises CodeError, whose message is for the model."""

    def search(self, queries: Sequence[str], limit: int, *, language: str = "") -> CodeSearchResult:
        """Return the best files for one to four phrasings, of one language if given.

        A phrasing between slashes is a regular expression.
        """
        raise NotImplementedError

    def find_definitions(self, symbol: str, scope: str = "") -> list[Definition]:
        """Return where a name, plain or dotted, is defined, below a folder if given."""
        raise NotImplementedError

    def find_references(self, symbol: str, limit: int) -> References:
        """Return the lines that use a name."""
        raise NotImplementedError

    def build_map(self, scope: str, max_tokens: int) -> RepoMap:
        """Return the map of all code, of a folder, or of what a question is about."""
        raise NotImplementedError

    def explain_limits(self) -> str:
        """Return a sentence about what cannot be found here, if no grammar is installed."""
        raise NotImplementedError
