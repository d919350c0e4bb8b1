"""Code cut where its definitions begin, as search wants it: each part with the names it defines."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from agents.code.parsed_file import ParsedSymbol
from agents.search.sections import MAX_SECTION_CHARS, Section

MIN_SECTION_CHARS = 800
MAX_NAMES = 60
_ABOVE = ("@", "#", "//", "/*", "*", "--")
"""What belongs to the definition below it: decorators and comments."""


def cut_sections(lines: Sequence[str], symbols: Sequence[ParsedSymbol]) -> list[Section]:
    """Return the parts of a file, first to last. Short ones are joined, long ones are cut."""
    names: dict[int, list[str]] = {}
    for symbol in symbols:
        names.setdefault(symbol.line, []).append(symbol.dotted_name)
    starts = sorted({_find_start(lines, line) for line in names})
    return list(_cut(lines, starts, names))


def _find_start(lines: Sequence[str], line: int) -> int:
    """Return the line on which the definition of a line begins, with what stands right above."""
    while line > 1 and lines[line - 2].lstrip().startswith(_ABOVE):
        line -= 1
    return line


def _cut(
    lines: Sequence[str], starts: Sequence[int], names: dict[int, list[str]]
) -> Iterator[Section]:
    ends = list(accumulate((len(line) + 1 for line in lines), initial=0))
    first = 1
    while first <= len(lines):
        before = ends[first - 1]
        full = bisect_right(ends, before + MAX_SECTION_CHARS + 1)
        enough = bisect_left(ends, before + MIN_SECTION_CHARS) + 1
        place = bisect_left(starts, max(enough, first + 1))
        start = starts[place] if place < len(starts) else full
        following = max(min(full, start), first + 1)
        yield _build(lines, first, min(following - 1, len(lines)), names)
        first = following


def _build(lines: Sequence[str], first: int, last: int, names: dict[int, list[str]]) -> Section:
    defined = [name for line in range(first, last + 1) if line in names for name in names[line]]
    return Section(tuple(defined[:MAX_NAMES]), first, last, "\n".join(lines[first - 1 : last]))
