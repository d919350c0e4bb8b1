"""What a single line of Markdown can begin, as far as that decides where a block ends."""

import re
from dataclasses import dataclass
from enum import Enum, auto

_FENCE = re.compile(r"(?P<marks>`{3,})(?P<info>[^`]*)\Z|(?P<waves>~{3,})(?P<about>.*)\Z")
_HEADING = re.compile(r"#{1,6}(?:[ \t]|\Z)")
_RULE = re.compile(r"([-*_])[ \t]*(?:\1[ \t]*){2,}\Z")
_ITEM = re.compile(r"(?P<mark>[-+*]|(?P<number>\d{1,9})[.)])(?P<space>[ \t]+|\Z)")
_SETEXT = re.compile(r" {0,3}(?:=+|-+)[ \t]*\Z")
_PIPE = re.compile(r"(?<!\\)\|")


class LineKind(Enum):
    NOTHING = auto()
    PARAGRAPH = auto()
    HEADING = auto()
    RULE = auto()
    FENCE = auto()
    INDENTED = auto()
    QUOTE = auto()
    LIST = auto()
    TABLE = auto()


@dataclass(frozen=True, slots=True)
class ItemMarker:
    """The mark of a list item: `-`, `7.`; `indent` is the column where its content begins."""

    mark: str
    indent: int
    empty: bool

    @property
    def number(self) -> int | None:
        return int(self.mark[:-1]) if len(self.mark) > 1 else None

    @property
    def interrupts(self) -> bool:
        """Whether such an item may follow a paragraph without an empty line."""
        return not self.empty and self.number in (None, 1)

    def continues(self, other: "ItemMarker") -> bool:
        return self.mark[-1] == other.mark[-1]


@dataclass(frozen=True, slots=True)
class Fence:
    mark: str
    info: str
    indent: int

    def is_closed_by(self, line: str) -> bool:
        bare = line.strip(" \t")
        marks = len(bare) >= len(self.mark) and not bare.strip(self.mark[0])
        return marks and measure_indent(line) < 4

    def strip_indent(self, line: str) -> str:
        """Return a line of the code, without as much indent as the fence itself has."""
        spaces = len(line) - len(line.lstrip(" "))
        return line[min(self.indent, spaces) :]


@dataclass(frozen=True, slots=True)
class LineStart:
    """What a line is when it stands alone."""

    kind: LineKind
    indent: int
    item: ItemMarker | None = None
    fence: Fence | None = None


def classify_line(line: str) -> LineStart:
    indent = measure_indent(line)
    if indent >= 4:
        return LineStart(LineKind.INDENTED, indent)
    text = line.lstrip(" ")
    match text[:1]:
        case ">":
            return LineStart(LineKind.QUOTE, indent)
        case "#" if _HEADING.match(text):
            return LineStart(LineKind.HEADING, indent)
        case "`" | "~" if found := _FENCE.match(text):
            mark, info = found["marks"] or found["waves"], found["info"] or found["about"] or ""
            return LineStart(LineKind.FENCE, indent, fence=Fence(mark, info, indent))
        case "-" | "*" | "_" if _RULE.match(text):
            return LineStart(LineKind.RULE, indent)
    if found := _ITEM.match(text):
        return LineStart(LineKind.LIST, indent, item=_parse_item(found, indent, text))
    return LineStart(LineKind.PARAGRAPH, indent)


def _parse_item(found: re.Match[str], indent: int, text: str) -> ItemMarker:
    mark, empty = found["mark"], found.end() == len(text)
    before = indent + len(mark)
    space = measure_indent(" " * before + found["space"]) - before
    # Five columns or more after the mark are one, and indented code.
    return ItemMarker(mark, before + (space if 1 <= space <= 4 and not empty else 1), empty)


def measure_indent(line: str) -> int:
    """Return the columns of white space before the text; a tab goes to the next fourth column."""
    white = line[: len(line) - len(line.lstrip(" \t"))]
    return len(white.expandtabs(4)) if "\t" in white else len(white)


def is_blank(line: str) -> bool:
    return not line.strip(" \t")


def is_setext_underline(line: str) -> bool:
    """Return whether the line makes a heading of the paragraph above it."""
    return bool(_SETEXT.match(line))


def is_table_head(head: str, rule: str) -> bool:
    """Return whether two lines are the head of a table: as many columns in each."""
    marks = rule.strip(" \t")
    if "|" not in head or len(marks) < 2 or marks.strip("|-: \t") or "-" not in marks:
        return False
    return measure_indent(rule) < 4 and len(_split_cells(head)) == len(_split_cells(rule))


def _split_cells(row: str) -> list[str]:
    cells = _PIPE.split(row.strip(" \t"))
    first = 1 if cells and not cells[0] else 0
    last = len(cells) - 1 if len(cells) > 1 and not cells[-1] else len(cells)
    return cells[first:last]
