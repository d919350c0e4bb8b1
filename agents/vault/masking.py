"""The parts of a note that are written text, and not code, comments or mathematics.

    for number, line in iterate_text_lines(lines, first=0): ...

Each line comes as long as it was, with blanks where something must not be read. Every line is
looked at once, whatever stands in it.
"""

import re
from collections.abc import Iterator, Sequence

_QUOTE = re.compile(r"[ ]{0,3}>[ ]?")
_LIST_MARKER = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])(?=[ \t])[ \t]{1,4}")
_FENCE = re.compile(r"\s*(`{3,}(?=[^`]*$)|~{3,})")
_TICKS = re.compile(r"`+")
_MATH = re.compile(r"(?<![\\$])\$(?![\s$])(?:[^$\\]|\\.)*(?<![\s\\])\$(?![\d$])")
_BLOCK_MARK = re.compile(r"%%|\$\$")
_WORTH_A_LOOK = re.compile(r"[`%$~]|^(?: {4}|\t)|^\s*(?:[-*+>]|\d+[.)])")
_MASKED_MARKS = ("`", "%", "$", "~~~", "\t", "    ")
"""A text that has none of these has nothing to be blanked out."""
_LIST_LINE = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])(?:\s|$)")


class _CodeFence:
    """A block of code that is open: what closes it, and the quote or list item it stands in."""

    def __init__(self, marks: str, depth: int, indent: int) -> None:
        self.marks = marks
        self.depth = depth
        self.indent = indent

    def is_closed_by(self, content: str) -> bool:
        stripped = content.strip()
        return stripped.startswith(self.marks) and not stripped.strip(self.marks[0])

    def is_left_by(self, depth: int, content: str) -> bool:
        """Return whether a line lies outside of the quote or list item, which ends the code too."""
        if depth < self.depth:
            return True
        return bool(content.strip()) and _measure_indent(content) < self.indent


class TextMask:
    """Blanks out, line by line, what is no text."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._fence: _CodeFence | None = None
        self._open_until: str = ""
        """`%%` or `$$`, when such a block is open."""
        self._last = {
            mark: max((n for n, line in enumerate(lines) if mark in line), default=-1)
            for mark in ("%%", "$$")
        }
        self._in_list = False
        self._after_blank = True

    def mask(self, number: int) -> str:
        """Return the line as text. Lines have to be asked for in their order."""
        line = self._lines[number]
        if self._fence is None and not self._open_until and not _WORTH_A_LOOK.search(line):
            self._note_paragraph(line)
            return line
        depth, start = _skip_quotes(line)
        if self._fence is not None:
            if not self._fence.is_left_by(depth, line[start:]):
                if self._fence.is_closed_by(line[start:]):
                    self._fence = None
                return " " * len(line)
            self._fence = None
        if not self._open_until and (self._opens_fence(line, depth, start) or self._is_code(line)):
            return " " * len(line)
        self._note_paragraph(line)
        return self._mask_blocks(number, line)

    def _opens_fence(self, line: str, depth: int, start: int) -> bool:
        indent = 0
        while marker := _LIST_MARKER.match(line, start):
            start, indent = marker.end(), marker.end() - start + indent
        if found := _FENCE.match(line, start):
            self._fence = _CodeFence(found[1], depth, indent)
            self._after_blank = False
        return found is not None

    def _is_code(self, line: str) -> bool:
        """Return whether a line is code because it is indented, which within lists it is not."""
        return (
            line.startswith(("    ", "\t")) and self._after_blank and not self._in_list
        ) and not _LIST_LINE.match(line)

    def _note_paragraph(self, line: str) -> None:
        if not line.strip():
            self._after_blank = True
            return
        if _LIST_LINE.match(line):
            self._in_list = True
        elif not line[0].isspace():
            self._in_list = False
        self._after_blank = False

    def _mask_blocks(self, number: int, line: str) -> str:
        """Blank out comments and mathematics, of which both may go over many lines."""
        pieces: list[str] = []
        if self._open_until:
            end = line.find(self._open_until)
            if end < 0:
                return " " * len(line)
            pieces.append(" " * (end + 2))
            line, self._open_until = line[end + 2 :], ""
        line = _mask_code(line)
        place = 0
        for found in _BLOCK_MARK.finditer(line):
            mark, start = found[0], found.start()
            if self._open_until == mark:
                pieces.append(" " * (found.end() - place))
                self._open_until, place = "", found.end()
            elif not self._open_until and self._is_closed_after(mark, number, line, start):
                pieces.append(_mask_math(line[place:start]))
                self._open_until, place = mark, start
        rest = line[place:]
        pieces.append(" " * len(rest) if self._open_until else _mask_math(rest))
        return "".join(pieces)

    def _is_closed_after(self, mark: str, number: int, line: str, start: int) -> bool:
        return number < self._last[mark] or line.rfind(mark) > start + 1


def _skip_quotes(line: str) -> tuple[int, int]:
    """Return how deep in quotes a line is, and where what is quoted begins."""
    depth = start = 0
    while found := _QUOTE.match(line, start):
        depth, start = depth + 1, found.end()
    return depth, start


def _measure_indent(content: str) -> int:
    expanded = content.expandtabs(4)
    return len(expanded) - len(expanded.lstrip())


def _mask_code(line: str) -> str:
    """Blank out what stands between equally many backticks."""
    if "`" not in line:
        return line
    runs = list(_TICKS.finditer(line))
    closing: dict[int, int] = {}
    partner = [-1] * len(runs)
    for number in range(len(runs) - 1, -1, -1):
        length = len(runs[number][0])
        partner[number] = closing.get(length, -1)
        closing[length] = number
    pieces, place, number = [], 0, 0
    while number < len(runs):
        if partner[number] < 0:
            number += 1
            continue
        start, end = runs[number].start(), runs[partner[number]].end()
        pieces += [line[place:start], " " * (end - start)]
        place, number = end, partner[number] + 1
    return "".join([*pieces, line[place:]])


def _mask_math(text: str) -> str:
    if text.count("$") < 2:
        return text
    return _MATH.sub(lambda found: " " * len(found[0]), text)


def iterate_text_lines(lines: Sequence[str], first: int = 0) -> Iterator[tuple[int, str]]:
    """Yield the lines from `first` on with their numbers, as text."""
    text = "\n".join(lines)
    if not any(mark in text for mark in _MASKED_MARKS):
        yield from enumerate(lines[first:], first)
        return
    mask = TextMask(lines)
    for number in range(first, len(lines)):
        yield number, mask.mask(number)
