"""A text cut at its headings. Lines are counted from 1, as editors count them.

    [each.heading_path for each in split_sections("# A\\n## B\\ntext")] == [("A",), ("A", "B")]

What is too long is cut by its size as well.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from agents.core.headings import Heading, find_headings

MAX_SECTION_CHARS = 8_000
MAX_HEADINGS = 1_000
"""What stands below more headings than this is cut by its size alone."""


@dataclass(frozen=True, slots=True)
class Section:
    heading_path: tuple[str, ...]
    first_line: int
    last_line: int
    text: str


def split_lines(text: str) -> list[str]:
    """Return the lines of a text as editors count them; `str.splitlines` knows more line ends."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def split_sections(text: str) -> list[Section]:
    """Return the sections of a text, first to last. Parts that hold nothing are left out.

    A heading with nothing below it but a lower one belongs to the section of that one.
    """
    lines = split_lines(text)
    sections: list[Section] = []
    path: list[Heading] = []
    start = 0
    for heading in find_headings(lines, MAX_HEADINGS):
        if not _is_bare(lines, path, heading):
            sections += _cut_by_size(lines, start, heading.line - 1, path)
            start = heading.line - 1
        while path and path[-1].level >= heading.level:
            path.pop()
        path.append(heading)
    return [*sections, *_cut_by_size(lines, start, len(lines), path)]


def _is_bare(lines: list[str], path: list[Heading], below: Heading) -> bool:
    """Return whether there is nothing between the last heading and a lower one."""
    if not path or path[-1].level >= below.level:
        return False
    return not any(map(str.strip, lines[path[-1].last_line : below.line - 1]))


def _cut_by_size(lines: list[str], start: int, end: int, path: list[Heading]) -> Iterator[Section]:
    """Cut what stands under one heading, between paragraphs where that is possible."""
    names = tuple(heading.text for heading in path if heading.text)
    while start < end:
        stop = _find_stop(lines, start, end)
        if any(map(str.strip, lines[start:stop])):
            yield Section(names, start + 1, stop, "\n".join(lines[start:stop]))
        start = stop


def _find_stop(lines: list[str], start: int, end: int) -> int:
    if sum(map(len, lines[start:end])) + end - start <= MAX_SECTION_CHARS:
        return end
    size, paragraph_end = 0, 0
    for number in range(start, end):
        size += len(lines[number]) + 1
        if size > MAX_SECTION_CHARS and number > start:
            return paragraph_end or number
        if not lines[number].strip():
            paragraph_end = number + 1
    return end
