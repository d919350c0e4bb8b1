"""Notes as units that can be quoted: sentences, list items, table rows, code. No I/O.

A unit is verbatim: what is left out is the mark in front of it (a dash, a number) and line breaks
within a paragraph. It knows its place, so that it can be cited and read in context.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from agents.core.stemming import stems

Kind = Literal["sentence", "item", "row", "code", "meta"]
Lines = list[tuple[int, str]]

_HEADING = re.compile(r"(#{1,6})\s+(\S.*)")
_ITEM = re.compile(r"\s*([-*+]|\d{1,3}[.)])\s+(\S.*)$")
_FENCE = re.compile(r"\s*(```|~~~)")
_END = re.compile(r"[.!?…][\"'”\u2019)\]*_]*(?=\s+[\"'“\u2018(\[*_]*[A-ZÄÖÜÀ-Þ0-9])")
_NO_END = re.compile(
    r"(?:\b(?:[A-Za-z]|e\.g|i\.e|z\.\s?B|d\.\s?h|u\.\s?a|Dr|Mr|Mrs|Ms|Prof|St|No|Nr|approx|ca|etc|vs"
    r"|bzw|usw|Fig|Abb|Jan|Feb|Aug|Sept|Oct|Nov|Dec)|(?:^|\s)\d{1,2})\.$"
)
_NO_END_CHARS = 12
_DATE_GOES_ON = re.compile(r"\s+\d{0,2}\s*(?:[A-Z][a-zäöü]+\b)")


@dataclass(frozen=True)
class Unit:
    path: str
    line: int
    text: str
    kind: Kind = "sentence"
    title: str = ""
    heading: str = ""
    block: int = 0
    """Units of one paragraph, list or table share it; it counts up through the note."""
    mark: str = ""
    """What stands before a list item: a dash, or its number."""
    lead: str = ""
    """The sentence before a list, or a table's two first lines."""
    before: "Unit | None" = field(default=None, repr=False, compare=False)
    """The sentence before this one in its paragraph."""
    read: bool = True
    """Whether it comes from a note that was read, not from a search."""

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset(stems(self.text))

    @cached_property
    def around(self) -> frozenset[str]:
        return frozenset(stems(f"{self.heading} {self.lead}"))

    @cached_property
    def named(self) -> frozenset[str]:
        return frozenset(stems(f"{self.title} {self.path.removesuffix('.md')}"))

    @property
    def place(self) -> tuple[str, int]:
        return self.path, self.line


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a paragraph, each with where it starts."""
    start = 0
    for end in _END.finditer(text):
        head = text[max(start, end.end() - _NO_END_CHARS) : end.end()]
        if _NO_END.search(head) and (
            not head.rstrip(".")[-1:].isdigit() or _DATE_GOES_ON.match(text, end.end())
        ):
            continue
        yield start, text[start : end.end()]
        start = end.end()
        while start < len(text) and text[start].isspace():
            start += 1
    if text[start:].strip():
        yield start, text[start:]


def units(path: str, lines: Iterable[tuple[int, str]]) -> list[Unit]:
    """Return the units of a note, from its numbered lines."""
    return _Reader(path).read(list(lines))


class _Reader:
    def __init__(self, path: str) -> None:
        self.found: list[Unit] = []
        self.path, self.title, self.heading = path, "", ""
        self.block = 0

    def read(self, lines: Lines) -> list[Unit]:
        at = self._front(lines)
        while at < len(lines):
            at = self._next(lines, at)
        return self.found

    def _add(self, line: int, text: str, kind: Kind, **more: object) -> Unit:
        unit = Unit(self.path, line, text, kind, self.title, self.heading, self.block)
        unit = replace(unit, **more)  # type: ignore[arg-type]  # the fields named by the callers
        self.found.append(unit)
        return unit

    def _front(self, lines: Lines) -> int:
        """Add title and facts of the frontmatter; return the line after it."""
        if not lines or lines[0][1].strip() != "---":
            return 0
        end = next((at for at, (_, text) in enumerate(lines[1:], 1) if text.strip() == "---"), 0)
        for number, text in lines[1:end]:
            key, colon, value = text.partition(":")
            if key.strip().lower() == "title":
                self.title = value.strip().strip("\"'")
            elif colon and value.strip():
                self._add(number, text.strip(), "meta")
        return end + 1 if end else 0

    def _next(self, lines: Lines, at: int) -> int:
        """Read one block and return the line after it."""
        text = lines[at][1]
        self.block += 1
        if not text.strip() or _is_rule(text):
            return at + 1
        if heading := _HEADING.match(text):
            self.heading = heading[2].rstrip().rstrip("#").rstrip()
            if heading[1] == "#" and not self.title:
                self.title = self.heading
            return at + 1
        if _FENCE.match(text):
            return self._code(lines, at)
        if text.lstrip().startswith("|"):
            return self._table(lines, at)
        if _ITEM.match(text):
            return self._list(lines, at)
        return self._paragraph(lines, at)

    def _code(self, lines: Lines, at: int) -> int:
        end = at + 1
        while end < len(lines) and not _FENCE.match(lines[end][1]):
            end += 1
        body = "\n".join(text for _, text in lines[at + 1 : end])
        if body.strip():
            self._add(lines[at][0], body, "code")
        return end + 1

    def _table(self, lines: Lines, at: int) -> int:
        end = at
        while end < len(lines) and lines[end][1].lstrip().startswith("|"):
            end += 1
        rows = lines[at:end]
        head = len(rows) > 1 and _is_rule(rows[1][1])
        lead = f"{rows[0][1].strip()}\n{rows[1][1].strip()}" if head else ""
        for number, text in rows[2 if head else 0 :]:
            self._add(number, text.strip(), "row", lead=lead)
        return end

    def _list(self, lines: Lines, at: int) -> int:
        lead = self._lead()
        while at < len(lines) and (item := _ITEM.match(lines[at][1])):
            number, text = lines[at][0], item[2].rstrip()
            at += 1
            while at < len(lines) and _goes_on(lines[at][1]):
                text += " " + lines[at][1].strip()
                at += 1
            self._add(number, text, "item", mark=item[1], lead=lead)
            if at + 1 < len(lines) and not lines[at][1].strip() and _ITEM.match(lines[at + 1][1]):
                at += 1  # items set apart by empty lines are still one list
        return at

    def _lead(self) -> str:
        """Return the sentence that introduces what follows, if the last one does."""
        last = self.found[-1] if self.found else None
        fits = last and last.kind == "sentence" and last.heading == self.heading
        return last.text if last and fits and last.text.endswith(":") else ""

    def _paragraph(self, lines: Lines, at: int) -> int:
        text, starts = "", []
        while at < len(lines) and _is_plain(lines[at][1]):
            starts.append((len(text), lines[at][0]))
            text += lines[at][1].strip().lstrip("> ") + " "
            at += 1
            if at < len(lines) and lines[at][0] != starts[-1][1] + 1:
                break  # the middle of the note was cut out here
        before: Unit | None = None
        for start, sentence in sentences(text.rstrip()):
            line = max(number for offset, number in starts if offset <= start)
            before = self._add(line, sentence.strip(), "sentence", before=before)
        return at


def _is_rule(text: str) -> bool:
    """Return whether a line only draws: a rule, or what stands below a table's head."""
    return "-" in text and not text.strip(" \t|:-")


def _is_plain(text: str) -> bool:
    special = _HEADING.match(text) or _FENCE.match(text) or _ITEM.match(text)
    return bool(text.strip()) and not special and not text.lstrip().startswith("|")


def _goes_on(text: str) -> bool:
    return text.startswith((" ", "\t")) and _is_plain(text)
