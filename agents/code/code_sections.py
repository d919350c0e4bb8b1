"""Code cut where its definitions begin, as search wants it: each part with the names it defines."""

from collections.abc import Iterator, Sequence

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
    starts = {_find_start(lines, line) for line in names}
    return list(_cut(lines, starts, names))


def _find_start(lines: Sequence[str], line: int) -> int:
    """Return the line on which the definition of a line begins, with what stands right above."""
    while line > 1 and lines[line - 2].lstrip().startswith(_ABOVE):
        line -= 1
    return line


def _cut(lines: Sequence[str], starts: set[int], names: dict[int, list[str]]) -> Iterator[Section]:
    first, size = 1, 0
    for number, line in enumerate(lines, 1):
        is_full = size + len(line) > MAX_SECTION_CHARS
        if size and (is_full or (size >= MIN_SECTION_CHARS and number in starts)):
            yield _build(lines, first, number - 1, names)
            first, size = number, 0
        size += len(line) + 1
    if size:
        yield _build(lines, first, len(lines), names)


def _build(lines: Sequence[str], first: int, last: int, names: dict[int, list[str]]) -> Section:
    defined = [name for line in range(first, last + 1) for name in names.get(line, ())]
    return Section(tuple(defined[:MAX_NAMES]), first, last, "\n".join(lines[first - 1 : last]))
