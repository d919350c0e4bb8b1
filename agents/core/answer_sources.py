"""Sources of an answer: those that were read for it, or that it cites. No I/O.

A source with a score was found by a search; it counts only if the answer cites it. One without was
read. Pages, the API and exports all ask here, each with the chunks of the run as it has them.
"""

import re
from collections.abc import Iterable, Iterator

from agents.core.chunks import (
    Content,
    Done,
    OracleStreamChunk,
    Source,
    SourceRef,
    ToolCalled,
    ToolResult,
    Turn,
    qualify_call_id,
)

NOT_LOOKED = "Answered without looking at your notes"
NOT_USED = "Answered without a source"
TOOLS_WITHOUT_NOTES = frozenset({"calculate", "current_time", "think"})
"""Tools that look nothing up."""
THREAD_PREFIX = "thread:"
"""How a cited thread is told from a note."""
MAX_CITATION_LENGTH = 512
MAX_LINES = 100
"""Places in one note that are told apart."""
_ANSWERED = frozenset({"completed", "limited"})
_CITATION = re.compile(rf"\[([^\[\]\n]{{1,{MAX_CITATION_LENGTH}}})\]")
_PLACE = re.compile(r"(?P<name>.+?)(?:[:#](?P<first>\d{1,7})(?:-(?P<last>\d{1,7}))?)?", re.DOTALL)
_SEPARATOR = re.compile(r"[,;]\s*")
_ALL_LINES = (0, 10**8)
Lines = tuple[int, int]
Key = tuple[str, int | None, bool, str]


class AnswerSources:
    """Follows the chunks of a run. Iterating gives the sources that count, each once."""

    def __init__(self) -> None:
        self._sources: dict[Key, SourceRef] = {}
        """By what it is cited as, its line, whether it was read, and its kind."""
        self._readers: dict[Key, set[str]] = {}
        """The calls of subagents; nothing stands for the model itself."""
        self._unfinished: set[str] = set()
        self._citations = Citations()
        self._has_looked = self._has_text = self._is_interim = False

    def __iter__(self) -> Iterator[SourceRef]:
        read, cited = self._collect_read_lines(), self._choose_cited()
        for key, source in self._sources.items():
            name, _, is_read, _ = key
            if is_read or (key in cited and not _overlaps(read.get(name, ()), source)):
                yield source

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def list_found(self, limit: int) -> list[SourceRef]:
        """Return at most `limit` sources: those of the answer, then others that were found."""
        used = list(self)
        return [*used, *(s for s in self._sources.values() if s not in used)][:limit]

    def note(self, outcome: str | None, *, is_continued: bool = False) -> str:
        """Return what is said under an answer that used no source; empty if there is none. The run
        that a continued one goes on from may have looked."""
        if outcome not in _ANSWERED or not self._has_text or len(self):
            return ""
        return NOT_USED if self._has_looked or is_continued else NOT_LOOKED

    def apply(self, chunk: OracleStreamChunk) -> bool:
        """Take a chunk. Return whether there may be something new to say."""
        match chunk:
            case Source(source=source, parent=reader):
                return self._add(source, reader)
            case ToolCalled(tool_call=call):
                looks = call.status == "running" and call.name not in TOOLS_WITHOUT_NOTES
                self._has_looked = self._has_looked or looks
            case ToolResult() if not chunk.has_finished:
                return self._drop(qualify_call_id(chunk.parent, chunk.tool_call_id))
            case Content(content=text, parent="") if not self._is_interim:
                return self.read(text)
            case Turn(phase="start", parent="", interim=label):
                self.read("\n")
                self._is_interim = bool(label)
            case Done(parent=""):
                return True
            case _:
                pass
        return False

    def read(self, text: str) -> bool:
        """Read on in the answer. Return whether it cites a source that it did not cite before."""
        self._has_text = self._has_text or bool(text.strip())
        cited = self._citations.feed(text)
        return bool(cited) and any(name in cited for name, *_ in self._sources)

    def _add(self, source: SourceRef, reader: str) -> bool:
        if not source.path or any(_is_within(reader, call) for call in self._unfinished):
            return False  # erased, or about to be
        name, is_read = get_citation_name(source), source.score is None
        key = (name, source.line, is_read, source.source_type)
        self._sources.setdefault(key, source)
        self._readers.setdefault(key, set()).add(reader)
        return is_read or name in self._citations.lines

    def _drop(self, call: str) -> bool:
        """Forget what only a subagent has read that did not finish."""
        self._unfinished.add(call)
        for readers in self._readers.values():
            readers -= {reader for reader in readers if _is_within(reader, call)}
        unread = [key for key, readers in self._readers.items() if not readers]
        for key in unread:
            del self._sources[key], self._readers[key]
        return bool(unread)

    def _collect_read_lines(self) -> dict[str, set[Lines]]:
        found: dict[str, set[Lines]] = {}
        for (name, _, is_read, _), source in self._sources.items():
            if is_read:
                found.setdefault(name, set()).add(_get_lines(source))
        return found

    def _choose_cited(self) -> set[Key]:
        """Return those whose lines are cited; of a note that is cited elsewhere, the best hit."""
        chosen: set[Key] = set()
        best: dict[str, Key] = {}
        for key, source in self._sources.items():
            if lines := self._citations.lines.get(key[0]):
                best.setdefault(key[0], key)
                if _overlaps(lines, source):
                    chosen.add(key)
        names = {name for name, *_ in chosen}
        return chosen | {key for name, key in best.items() if name not in names}


class Citations:
    """Reads `[path]`, `[path:3]`, `[path:3-5]`, `[thread:name#3]` and `[url]` in pieces of text."""

    def __init__(self) -> None:
        self.lines: dict[str, set[Lines]] = {}
        """By what is cited."""
        self._open = ""

    def feed(self, text: str) -> set[str]:
        """Return what this piece of the text cites."""
        text = self._open + text
        if "[" not in text:
            return set()
        end, names = 0, set[str]()
        for found in _CITATION.finditer(text):
            end = found.end()
            for place in dict.fromkeys((found[1], *_SEPARATOR.split(found[1]))):
                names.add(self._add(place.strip(" `")))
        start = text.rfind("[", end)
        rest = text[start:] if start >= 0 else ""
        is_open = len(rest) <= MAX_CITATION_LENGTH and "\n" not in rest and "]" not in rest
        self._open = rest if is_open else ""
        return names

    def _add(self, place: str) -> str:
        found = _PLACE.fullmatch(place)
        if found is None:
            return ""
        known, first = self.lines.setdefault(found["name"], set()), found["first"]
        is_some = first is not None and len(known) < MAX_LINES
        known.add((int(first), int(found["last"] or first)) if is_some else _ALL_LINES)
        return found["name"]


def get_citation_name(source: SourceRef) -> str:
    """Return what a source is cited as, without its line."""
    return f"{THREAD_PREFIX}{source.path}" if source.source_type == "thread" else source.path


def _get_lines(source: SourceRef) -> Lines:
    if source.line is None:
        return _ALL_LINES
    return source.line, max(source.line, source.end_line or 0)


def _overlaps(lines: Iterable[Lines], source: SourceRef) -> bool:
    first, last = _get_lines(source)
    return any(begin <= last and first <= end for begin, end in lines)


def _is_within(reader: str, call: str) -> bool:
    """Return whether a subagent is that of a call, or one below it."""
    return reader == call or reader.startswith(qualify_call_id(call, ""))
