"""The line of a text that says why it was found. Pure: from lines and the terms looked for."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agents.search.analysis import analyse, get_pattern

MAX_CHARS = 480
_HEADING_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class NoteSnippet:
    """A line by its number, and its text as one line."""

    line: int
    text: str


def build_snippet(
    lines: Sequence[str], first_line: int, last_line: int, weights: Mapping[str, float]
) -> NoteSnippet:
    """Return the line between two others that has most of the terms.

    Of a heading, the text it stands over: that is what a reader wants to see.
    """
    last = min(last_line, len(lines))
    numbers = range(min(first_line, last), last + 1) if last else range(0)
    best = max(numbers, key=lambda number: _weigh_line(lines[number - 1], weights), default=0)
    for number in range(best, last + 1) if best else ():
        if lines[number - 1].strip() and not lines[number - 1].startswith("#"):
            return NoteSnippet(number, _shorten(lines[number - 1], weights))
    return NoteSnippet(max(1, best), _shorten(lines[best - 1], weights) if best else "")


def _weigh_line(line: str, weights: Mapping[str, float]) -> tuple[float, bool]:
    """Return how much a line tells; of those that tell nothing, one with words tells more."""
    analysed = analyse(line)
    share = _HEADING_SHARE if line.startswith("#") else 1.0
    return share * sum(weights[term] for term in find_terms(analysed, weights)), bool(analysed)


def find_terms(analysed: str, terms: Iterable[str]) -> list[str]:
    """Return the terms of a query that an analysed text has."""
    return [term for term in terms if get_pattern(term) in analysed]


def _shorten(line: str, weights: Mapping[str, float]) -> str:
    """Return a line as one line of text; of a long one, the part around its first telling word."""
    text = " ".join(line.split())
    if len(text) <= MAX_CHARS:
        return text
    start = max(0, min(_find_telling_word(text, weights) - MAX_CHARS // 3, len(text) - MAX_CHARS))
    part = text[start : start + MAX_CHARS - 2]
    return f"{'…' if start else ''}{part}{'…' if start + len(part) < len(text) else ''}"


def _find_telling_word(text: str, weights: Mapping[str, float]) -> int:
    place = 0
    for word in text.split(" "):
        if find_terms(analyse(word), weights):
            return place
        place += len(word) + 1
    return 0
