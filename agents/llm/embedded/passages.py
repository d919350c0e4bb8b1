"""Notes as passages that can be quoted: sentences, list items, table rows, properties. No I/O.

A passage has the words of its note. Left out are marks: dashes, numbers of items, the brackets of
links, line breaks within a paragraph; the cells of a row stand beside the names of their columns.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import zip_longest
from operator import itemgetter
from pathlib import PurePosixPath
from typing import Any, Literal

from agents.core.frontmatter import Property, read_frontmatter
from agents.core.headings import Heading, find_headings
from agents.core.stemming import stems
from agents.llm.embedded.vocabulary import REFERS, REFERS_BACK, name_signs

PassageKind = Literal["sentence", "item", "row", "code", "property", "entry"]
PassageSource = Literal["vault", "thread", "code"]
Lines = list[tuple[int, str]]

_BOLD_LINE = re.compile(r"(?:\*\*|__)[^*_]{3,}(?:\*\*|__):?\s*")  # a heading below all others
_QUOTED = re.compile(r"\s*(?:>\s?)+(\[!\w+\][+-]?\s*)?")
_ITEM = re.compile(r"\s*([-*+]|(?:\d{1,3}|#)[.)])\s+(\S.*)$")
_POINTER = re.compile(r"[^:]+: \[\[[^\[\]]+\]\]")
_FENCE = re.compile(r"\s*(```|~~~)")
_LINK = re.compile(r"!?\[\[([^\[\]|#\n]*)(?:#[^\[\]|\n]*)?(?:\|([^\[\]\n]*))?\]\]")
_ROLE = re.compile(r":[\w:+-]+:`~?([^`<\n]+?)\s*(?:<[^`>\n]*>)?`")
_UNDERLINE = re.compile(r"([=~^\"*-])\1{2,}\s*")
_DIRECTIVE = re.compile(r"\s*\.\. (?P<code>code|console|literalinclude|highlight)?")
_EMBED_LINE = re.compile(r"\s*!\[\[[^\]\n]*\]\]\s*")
_END = re.compile(r"([.!?…][\"'”\u2019)\]*_]*)\s+(?=[\"'“\u2018(\[*_]*[A-ZÄÖÜÀ-Þ0-9])")
_NO_END = re.compile(
    r"(?:\b(?:[A-Za-z]|e\.g|i\.e|z\.\s?B|d\.\s?h|u\.\s?a|Dr|Mr|Mrs|Ms|Prof|St|No|Nr|approx|ca|etc|vs"
    r"|bzw|usw|Fig|Abb|Jan|Feb|Aug|Sept|Oct|Nov|Dec)|(?:^|\s)\d{1,2})\.$"
)
_NO_END_CHARS, _NEAR_SENTENCES, _SHORT_LEAD, _MAX_CODE_CHARS = 12, 3, 3, 700
_DATE_GOES_ON = re.compile(r"\s{1,5}(?:\d{1,2}\s{0,5})?[A-Z][a-zäöü]+\b")
_TASK, _STARTED = re.compile(r"\[[ xX]\] "), re.compile(r"(?i)(?:get(?:ting)?|quick) ?start")
_SILENT_KEYS = frozenset({"cover", "cssclasses", "icon", "color", "banner", "id", "uid"})


@dataclass(frozen=True)
class Passage:
    path: str
    line: int
    text: str
    kind: PassageKind = "sentence"
    title: str = ""
    headings: tuple[str, ...] = ()  # above it, without the title of the note
    block: int = 0  # of one paragraph, list or table; it counts up through the note
    mark: str = ""  # before a list item: a dash, or its number
    lead: str = ""  # the last sentence before a list or a table, with the one before `For example:`
    labels: str = ""  # tags and aliases of the note
    before: "Passage | None" = field(default=None, repr=False, compare=False)  # what it refers to
    read: bool = True  # from a note that was read, not from a search
    source: PassageSource = "vault"
    score: float = field(default=0.0, compare=False)  # of a search
    is_pointer: bool = False  # an item that only says in which note something is

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset(stems(name_signs(self.text)))

    @cached_property
    def around(self) -> frozenset[str]:
        task = "task tasks todo aufgabe aufgaben" if _TASK.match(self.text) else ""
        start = "install setup running" if _STARTED.match(self.heading) else ""
        return stem_all(f"{' '.join(self.headings)} {self.lead} {task} {start}")

    @cached_property
    def named(self) -> frozenset[str]:
        return stem_all(f"{self.title} {self.path.rpartition('.')[0]} {self.labels}")

    @cached_property
    def near(self) -> frozenset[str]:
        """The stems of what stands just before it, in its paragraph or its list."""
        found, before = frozenset[str](), self.before
        for _ in range(_NEAR_SENTENCES):
            found |= before.stems if before else frozenset()
            before = before and before.before
        return found

    @property
    def refers(self) -> bool:
        return self.before is not None and bool(REFERS.search(self.text))

    @property
    def heading(self) -> str:
        return self.headings[-1] if self.headings else ""

    @property
    def is_step(self) -> bool:
        return self.mark[:-1].isdigit()

    @property
    def citation(self) -> str:
        is_thread = self.source == "thread"
        return f"[thread:{self.path}#{self.line}]" if is_thread else f"[{self.path}:{self.line}]"

    @property
    def place(self) -> tuple[str, int]:
        return self.key, self.line

    @property
    def key(self) -> str:
        """What tells its note or thread from all others."""
        return f"thread:{self.path}" if self.source == "thread" else self.path


@lru_cache(maxsize=500)
def stem_all(text: str) -> frozenset[str]:
    """Return the stems of what many passages share: headings, or the name of their note."""
    return frozenset(stems(name_signs(text)))


def split_sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a paragraph, each with where it starts."""
    start = 0
    for end in _END.finditer(text):
        head = text[max(start, end.end(1) - _NO_END_CHARS) : end.end(1)]
        if _NO_END.search(head) and (
            not head.rstrip(".")[-1:].isdigit() or _DATE_GOES_ON.match(text, end.end(1))
        ):
            continue
        yield start, text[start : end.end(1)]
        start = end.end()
    if text[start:].strip():
        yield start, text[start:]


def strip_links(text: str) -> str:
    """Return text with links as they are read: by their name, or as they are called."""
    if ":`" in text:
        text = _ROLE.sub(r"`\1`", text)
    return _LINK.sub(lambda m: m[2] or m[1], text) if "[[" in text else text


def parse_note(path: str, lines: Iterable[tuple[int, str]], title: str = "") -> list[Passage]:
    """Return the passages of a note, from its numbered lines."""
    return _NoteParser(path, title).parse(list(lines))


class _NoteParser:
    def __init__(self, path: str, title: str) -> None:
        self.found: list[Passage] = []
        self.path, self.title, self.labels = path, title, ""
        self.numbers, self.texts = list[int](), list[str]()  # of the lines
        self.headings: dict[int, Heading] = {}
        self.levels: list[tuple[int, str]] = []
        self.block = self.number = 0
        self.code_follows = False

    def parse(self, lines: Lines) -> list[Passage]:
        block = read_frontmatter([text for _, text in lines])
        for each in block.properties:
            self._add_property(each, lines[each.first][0])
        lines = [*lines[: block.end], *_strip_quotes(lines[block.end :])]
        self.numbers, self.texts = [n for n, _ in lines], [text for _, text in lines]
        self.headings = {h.line - 1: h for h in find_headings(self.texts, len(lines) + 1)}
        at = self._skip(block.end, lambda text: not text.strip())
        first = self.headings.get(at)
        named = first.text if first and first.level <= 1 else PurePosixPath(self.path).stem
        self.title = self.title or named
        self.found = [replace(p, title=self.title, labels=self.labels) for p in self.found]
        while at < len(lines):
            at = self._parse_block(at)
        return self.found

    def _skip(self, at: int, is_inside: Callable[[str], object]) -> int:
        """Return the first line from here that is not inside."""
        rest = range(at, len(self.texts))
        return next((line for line in rest if not is_inside(self.texts[line])), len(self.texts))

    def _add(self, line: int, text: str, kind: PassageKind, **more: Any) -> Passage:
        headings = tuple(name for _, name in self.levels if name != self.title)
        told = (strip_links(text).strip(), kind, self.title, headings, self.block)
        passage = Passage(self.path, line, *told, labels=self.labels, **more)
        self.found.append(passage)
        return passage

    def _add_property(self, found: Property, line: int) -> None:
        value = strip_links(", ".join(found.values))
        name = found.name.lower()
        if not value or "{{" in value or name in _SILENT_KEYS:
            return
        if name == "title":
            self.title = value
        elif name in ("tags", "aliases", "tag", "alias"):
            self.labels = f"{self.labels} {value}".strip()
        else:
            self._add(line, f"{found.name}: {value}", "property")
            if "[[" in "".join(found.values):  # what a note is linked with, it is about
                self.labels = f"{self.labels} {value}".strip()

    def _parse_block(self, at: int) -> int:
        """Read one block and return the line after it."""
        text = self.texts[at]
        self.block += 1
        if heading := self.headings.get(at):
            return self._begin_section(heading.level, heading.text, heading.last_line)
        if not text.strip() or _is_rule(text) or _EMBED_LINE.fullmatch(text):
            return at + 1
        if _BOLD_LINE.fullmatch(text):
            return self._begin_section(7, text, at + 1)
        if directive := _DIRECTIVE.match(text):
            self.code_follows = bool(directive["code"])
            return at + 1
        if _FENCE.match(text) or (self.code_follows and text[0].isspace()):
            return self._parse_code(at)
        self.code_follows = False
        if _is_row(text):
            return self._parse_table(at)
        if _ITEM.match(text):
            return self._parse_list(at)
        return self._parse_paragraph(at)

    def _begin_section(self, level: int, heading: str, end: int) -> int:
        self.number = 0
        self.levels = [known for known in self.levels if known[0] < level]
        self.levels.append((level, strip_links(heading).strip("*_: ")))
        return end

    def _parse_code(self, at: int) -> int:
        first = self.texts[at]
        indent = first[: len(first) - len(first.lstrip())]
        if fenced := bool(_FENCE.match(first)):
            end = self._skip(at + 1, lambda text: not _FENCE.match(text))
        else:
            end = self._skip(at, lambda text: not text.strip() or text.startswith(indent))
        body = "\n".join(self.texts[at + fenced : end])
        if body.strip() and len(body) <= _MAX_CODE_CHARS:
            self._add(self.numbers[at], body.rstrip(), "code", lead=self._get_lead())
        return end + fenced

    def _parse_table(self, at: int) -> int:
        end = self._skip(at, _is_row)
        has_head = end > at + 1 and _is_rule(self.texts[at + 1])
        names = _split_cells(self.texts[at]) if has_head else []
        lead = self._get_lead()
        for line in range(at + 2 * has_head, end):
            if row := _join_cells(names, _split_cells(self.texts[line])):
                self._add(self.numbers[line], row, "row", lead=lead)
        return end

    def _parse_list(self, at: int) -> int:
        lead, last = self._get_lead(), None
        while at < len(self.texts) and (item := _ITEM.match(self.texts[at])):
            end = self._skip(at + 1, lambda text: text[:1].isspace() and _is_plain(text))
            text = " ".join([item[2].rstrip(), *map(str.strip, self.texts[at + 1 : end])])
            self.number = self.number + 1 if item[1][0] == "#" else 0
            mark = item[1].replace("#", str(self.number))
            told: dict[str, Any] = {"before": last} if REFERS_BACK.search(text) else {}
            told |= {"mark": mark, "lead": lead, "is_pointer": bool(_POINTER.fullmatch(text))}
            last = self._add(self.numbers[at], text, "item", **told)
            after = self._skip(end, lambda text: not text.strip())
            is_apart = after == end + 1 and after < len(self.texts)
            at = after if is_apart and _ITEM.match(self.texts[after]) else end
        return at

    def _get_lead(self) -> str:
        last = self.found[-1] if self.found else None
        if last is None or last.kind != "sentence" or last.block < self.block - 2:
            return ""
        if last.before and len(last.text.split()) <= _SHORT_LEAD:
            return f"{last.before.text} {last.text}"
        return last.text

    def _parse_paragraph(self, at: int) -> int:
        text, starts = "", []
        while at < len(self.texts) and _is_plain(self.texts[at]) and at not in self.headings:
            starts.append((len(text), self.numbers[at]))
            text += self.texts[at].strip() + " "
            at += 1
            if self.numbers[at : at + 1] != [starts[-1][1] + 1]:
                break  # the middle of the note was cut out here
        self.code_follows = text.rstrip().endswith("::")
        before: Passage | None = None
        for start, sentence in split_sentences(text.rstrip()):
            line = starts[bisect_right(starts, start, key=itemgetter(0)) - 1][1]
            before = self._add(line, sentence, "sentence", before=before)
        return at


def _is_row(text: str) -> bool:
    return text.lstrip().startswith("|")


def _is_plain(text: str) -> bool:
    marks = (_is_row, _FENCE.match, _ITEM.match, _BOLD_LINE.fullmatch)
    return bool(text.strip()) and not any(is_mark(text) for is_mark in marks)


def _strip_quotes(lines: Lines) -> Iterator[tuple[int, str]]:
    """Yield lines without the marks of quotes; the title of a callout stands apart."""
    for number, text in lines:
        mark = _QUOTED.match(text)
        yield number, text[mark.end() :] if mark else text
        if mark and mark[1]:
            yield number, ""


def _split_cells(row: str) -> list[str]:
    return [cell.strip() for cell in strip_links(row).strip().strip("|").split("|")]


def _join_cells(names: list[str], cells: list[str]) -> str:
    """Return a row as text: its first cell, then each other one behind the name of its column."""
    pairs = zip_longest(names[1:], cells[1:], fillvalue="")
    rest = (f"{name}: {cell}" if name else cell for name, cell in pairs if cell)
    return " · ".join(filter(None, [cells[0], *rest]))


def _is_rule(text: str) -> bool:
    """Return whether a line only draws: a rule, or what stands below a table's head."""
    return ("-" in text and not text.strip(" \t|:-")) or bool(_UNDERLINE.fullmatch(text))
