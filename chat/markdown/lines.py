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


class Kind(Enum):
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
class Item:
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

    def continues(self, other: "Item") -> bool:
        return self.mark[-1] == other.mark[-1]


@dataclass(frozen=True, slots=True)
class Fence:
    mark: str
    info: str
    indent: int

    def closed_by(self, line: str) -> bool:
        bare = line.strip(" \t")
        marks = len(bare) >= len(self.mark) and not bare.strip(self.mark[0])
        return marks and indent_of(line) < 4

    def inner(self, line: str) -> str:
        """A line of the code, without as much indent as the fence itself has."""
        spaces = len(line) - len(line.lstrip(" "))
        return line[min(self.indent, spaces) :]


@dataclass(frozen=True, slots=True)
class Start:
    """What a line is when it stands alone."""

    kind: Kind
    indent: int
    item: Item | None = None
    fence: Fence | None = None


def start_of(line: str) -> Start:
    indent = indent_of(line)
    if indent >= 4:
        return Start(Kind.INDENTED, indent)
    text = line.lstrip(" ")
    match text[:1]:
        case ">":
            return Start(Kind.QUOTE, indent)
        case "#" if _HEADING.match(text):
            return Start(Kind.HEADING, indent)
        case "`" | "~" if found := _FENCE.match(text):
            mark, info = found["marks"] or found["waves"], found["info"] or found["about"] or ""
            return Start(Kind.FENCE, indent, fence=Fence(mark, info, indent))
        case "-" | "*" | "_" if _RULE.match(text):
            return Start(Kind.RULE, indent)
    if found := _ITEM.match(text):
        return Start(Kind.LIST, indent, item=_item(found, indent, text))
    return Start(Kind.PARAGRAPH, indent)


def _item(found: re.Match[str], indent: int, text: str) -> Item:
    mark, empty = found["mark"], found.end() == len(text)
    before = indent + len(mark)
    space = indent_of(" " * before + found["space"]) - before
    # Five columns or more after the mark are one, and indented code.
    return Item(mark, before + (space if 1 <= space <= 4 and not empty else 1), empty)


def indent_of(line: str) -> int:
    """The columns of white space before the text; a tab goes to the next fourth column."""
    white = line[: len(line) - len(line.lstrip(" \t"))]
    return len(white.expandtabs(4)) if "\t" in white else len(white)


def is_blank(line: str) -> bool:
    return not line.strip(" \t")


def underlines(line: str) -> bool:
    """Whether the line makes a heading of the paragraph above it."""
    return bool(_SETEXT.match(line))


def opens_table(head: str, rule: str) -> bool:
    """Whether two lines are the head of a table: as many columns in each."""
    marks = rule.strip(" \t")
    if "|" not in head or len(marks) < 2 or marks.strip("|-: \t") or "-" not in marks:
        return False
    return indent_of(rule) < 4 and len(_cells(head)) == len(_cells(rule))


def _cells(row: str) -> list[str]:
    cells = _PIPE.split(row.strip(" \t"))
    first = 1 if cells and not cells[0] else 0
    last = len(cells) - 1 if len(cells) > 1 and not cells[-1] else len(cells)
    return cells[first:last]
