"""A text cut at its headings. Lines are counted from 1, as editors count them.

    [each.heading_path for each in split_sections("# A\\n## B\\ntext")] == [("A",), ("A", "B")]

Headings are Markdown's, and those of plain text that are underlined. What looks like one within
frontmatter or a code fence is none.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_SECTION_CHARS = 8_000
MAX_HEADINGS = 1_000
"""What stands below more headings than this is cut by its size alone."""
MAX_HEADING_CHARS = 200
_HEADING_PATTERN = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_FENCE_PATTERN = re.compile(r"([ \t>]*)(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})")
_UNDERLINE_LEVELS = {"=": 1, "-": 2, "~": 3, "^": 4, '"': 5}
_UNDERLINE_PATTERN = re.compile(r'(={3,}|-{3,}|~{3,}|\^{3,}|"{3,})[ \t]*$')
# The first character of a line that needs a closer look, after indents and marks of quotes.
_TELLING_STARTS = frozenset('#`~=-^"*+0123456789')


@dataclass(frozen=True, slots=True)
class Section:
    heading_path: tuple[str, ...]
    first_line: int
    last_line: int
    text: str


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading, its first line and its last; underlined ones have several."""

    level: int
    text: str
    line: int
    last_line: int


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


def find_headings(lines: list[str], limit: int) -> list[Heading]:
    """Return the first headings of a text."""
    if lines and lines[0].startswith("\ufeff"):
        lines = [lines[0][1:], *lines[1:]]
    found: list[Heading] = []
    fence = quote = ""
    for number in range(count_frontmatter_lines(lines), len(lines)):
        line = lines[number]
        if line.lstrip(" \t>")[:1] not in _TELLING_STARTS and not quote:
            continue
        if quote and not line.lstrip().startswith(">"):
            fence = quote = ""  # a quote ends, and with it the code in it
        if fence:
            bare = line.strip(" \t>")
            if bare.startswith(fence) and not bare.strip(fence[0]):
                fence = quote = ""
        elif heading := _read_heading(lines, number):
            found.append(heading)
            if len(found) == limit:
                break
        elif match := _FENCE_PATTERN.match(line):
            fence, quote = match[2], ">" if ">" in match[1] else ""
    return found


def count_frontmatter_lines(lines: list[str]) -> int:
    """Return how many lines the frontmatter takes, with the marks around it."""
    if not lines or lines[0].removeprefix("\ufeff").rstrip() != "---":
        return 0
    for number, line in enumerate(lines[1:], 2):
        if line.rstrip() in ("---", "..."):
            return number
    return 0


def _read_heading(lines: list[str], number: int) -> Heading | None:
    line = lines[number]
    if match := _HEADING_PATTERN.match(line):
        return Heading(len(match[1]), _shorten(match[2] or ""), number + 1, number + 1)
    if number and (match := _UNDERLINE_PATTERN.match(line)):
        return _read_underlined(lines, number, match[1])
    return None


def _read_underlined(lines: list[str], number: int, line: str) -> Heading | None:
    """Return a title with a line below that is as long, and with nothing or such a line above."""
    title = lines[number - 1].rstrip()
    above = lines[number - 2].rstrip() if number > 1 else ""
    is_overlined = len(above) >= len(title) and above == line
    is_fence = line[0] == "~" and len(line) != len(title)
    if (
        is_fence
        or len(line) < len(title.strip())
        or not title[:1].strip()
        or title[0] in "#>|`"
        or _UNDERLINE_PATTERN.match(title)
        or (above.strip() and not is_overlined)
    ):
        return None
    level = _UNDERLINE_LEVELS[line[0]]
    if is_overlined:
        level -= len(_UNDERLINE_LEVELS)
    return Heading(level, _shorten(title), number - is_overlined, number + 1)


def _shorten(heading: str) -> str:
    return " ".join(heading.split())[:MAX_HEADING_CHARS]


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
