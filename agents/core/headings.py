"""The headings of a text: Markdown's, and those of plain text that are underlined.

What looks like one within frontmatter or a code fence is none. Search and embedded model share it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

MAX_HEADING_CHARS = 200
_HEADING_PATTERN = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_FENCE_PATTERN = re.compile(r"([ \t>]*)(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})")
_UNDERLINE_LEVELS = {"=": 1, "-": 2, "~": 3, "^": 4, '"': 5}
_UNDERLINE_PATTERN = re.compile(r'(={3,}|-{3,}|~{3,}|\^{3,}|"{3,})[ \t]*$')
# The first character of a line that needs a closer look, after indents and marks of quotes.
_TELLING_STARTS = frozenset('#`~=-^"*+0123456789')


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading, its first line and its last; underlined ones have several."""

    level: int
    text: str
    line: int
    last_line: int


def find_headings(lines: Sequence[str], limit: int) -> list[Heading]:
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


def count_frontmatter_lines(lines: Sequence[str]) -> int:
    """Return how many lines the frontmatter takes, with the marks around it."""
    if not lines or lines[0].removeprefix("\ufeff").rstrip() != "---":
        return 0
    for number, line in enumerate(lines[1:], 2):
        if line.rstrip() in ("---", "..."):
            return number
    return 0


def _read_heading(lines: Sequence[str], number: int) -> Heading | None:
    line = lines[number]
    if match := _HEADING_PATTERN.match(line):
        return Heading(len(match[1]), _shorten(match[2] or ""), number + 1, number + 1)
    if number and (match := _UNDERLINE_PATTERN.match(line)):
        return _read_underlined(lines, number, match[1])
    return None


def _read_underlined(lines: Sequence[str], number: int, line: str) -> Heading | None:
    """Return a title with a line below that is as long, and with nothing or such a line above."""
    title = lines[number - 1].rstrip()
    above = lines[number - 2].rstrip() if number > 1 else ""
    is_overlined = len(above) >= len(title) and above == line
    is_fence = line[0] == "~" and len(line) != len(title)
    if (
        is_fence
        or len(line) < len(title.strip())
        or not title[:1].strip()
        or title.startswith(("#", ">", "|", "```"))
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
