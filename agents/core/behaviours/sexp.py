"""Parse s-expressions with positions: brackets, words, keywords, texts and numbers, not meaning.

    node = "(" word ... ")"    vector = "[" ... "]"    map = "{" ... "}"
    comment = ";" to the end of the line; commas are spaces

A text is read once, from its beginning to its end, without recursion. Whatever it is, it becomes
forms or problems, each with its place.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from agents.core.control.problems import InvalidText, PlacedProblem

MAX_LENGTH = 200_000
MAX_DEPTH = 60
MAX_PROBLEMS = 50
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
"""What no text of ours holds: control characters, halves of characters, turns of direction."""
_TOKEN = re.compile(
    r"""
    (?P<space>[\s,]+|;[^\n]*)
  | (?P<text>"(?:[^"\\]|\\.)*")
  | (?P<open>[(\[{])
  | (?P<close>[)\]}])
  | (?P<number>[+-]?\d+(?:\.\d+)?(?=[\s,;()\[\]{}"]|\Z))
  | (?P<keyword>:[A-Za-z][A-Za-z0-9_?!-]*)
  | (?P<word>[A-Za-z_][A-Za-z0-9_.?!*/<>=+-]*)
  | (?P<stray>[^\s,;()\[\]{}"]+|.)
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)

Place = tuple[int, int]
FormType = Literal["word", "keyword", "text", "number", "(", "[", "{"]


class InvalidBehaviour(InvalidText):
    """A text is not a behaviour."""

    def __init__(self, problems: Iterable[PlacedProblem]) -> None:
        super().__init__(sorted(set(problems))[:MAX_PROBLEMS])


@dataclass(frozen=True, slots=True)
class SourceForm:
    """One thing that was written: a word, a value, or what stands between two brackets."""

    type: FormType
    place: Place
    source: str = ""
    """As it was written; of brackets, nothing."""
    items: tuple["SourceForm", ...] = field(default=())

    @property
    def text(self) -> str:
        """Return what it says: the name of a word or keyword, the letters of a text."""
        if self.type == "text":
            return "".join(letter for letter, _ in _decode_text(self.source))
        return self.source.removeprefix(":")

    @property
    def number(self) -> int | float:
        return float(self.source) if "." in self.source else int(self.source)

    @property
    def head(self) -> str:
        """Return the word that a node begins with, or nothing."""
        first = self.items[0] if self.type == "(" and self.items else None
        return first.source if first is not None and first.type == "word" else ""

    def find_place(self, line: int, column: int) -> Place:
        """Return where in the file a place inside of this text stands."""
        at = (1, 1)
        offset = len(self.source) - 1
        for letter, start in _decode_text(self.source):
            if at >= (line, column):
                offset = start
                break
            at = (at[0] + 1, 1) if letter == "\n" else (at[0], at[1] + 1)
        before = self.source[:offset]
        if "\n" in before:
            return self.place[0] + before.count("\n"), len(before) - before.rfind("\n")
        return self.place[0], self.place[1] + offset


def _decode_text(source: str) -> Iterator[tuple[str, int]]:
    """Yield the letters of a text in quotes, each with its offset."""
    offset = 1
    while offset < len(source) - 1:
        letter, start = source[offset], offset
        if letter == "\\":
            offset += 1
            letter = _ESCAPES.get(source[offset], source[offset])
        yield letter, start
        offset += 1


def read_form(text: str) -> SourceForm:
    """Read the one form that a text is. Raises InvalidBehaviour with every problem."""
    if len(text) > MAX_LENGTH:
        message = f"the text is longer than {MAX_LENGTH:,} characters"
        raise InvalidBehaviour([PlacedProblem(1, 1, message)])
    if forbidden := _FORBIDDEN.search(text):
        raise InvalidBehaviour([_refuse_character(text, forbidden.start())])
    reader = _FormReader(text)
    form = reader.read()
    if form is None or reader.problems:
        raise InvalidBehaviour(reader.problems)
    return form


def _refuse_character(text: str, offset: int) -> PlacedProblem:
    before, character = text[:offset], text[offset]
    place = before.count("\n") + 1, offset - before.rfind("\n")
    return PlacedProblem(*place, f"the character U+{ord(character):04X} cannot be used")


class _FormReader:
    def __init__(self, text: str) -> None:
        self.problems: list[PlacedProblem] = []
        self._text = text
        self._line, self._line_start = 1, 0
        self._open: list[tuple[FormType, Place, list[SourceForm]]] = []
        self._items: list[SourceForm] = []
        """Of the innermost bracket that is open, or of the file."""

    def read(self) -> SourceForm | None:
        for token in _TOKEN.finditer(self._text):
            kind, source = token.lastgroup, token[0]
            if kind != "space":
                self._take(kind or "", source, (self._line, token.start() - self._line_start + 1))
            if lines := source.count("\n"):
                self._line += lines
                self._line_start = token.start() + source.rfind("\n") + 1
            if len(self.problems) >= MAX_PROBLEMS:
                return None
        for opening, place, _ in self._open[:MAX_PROBLEMS]:
            self._refuse(place, f"this {opening} is never closed")
        return self._find_only_form()

    def _take(self, kind: str, source: str, place: Place) -> None:
        match kind:
            case "open":
                self._open_bracket(source, place)
            case "close":
                self._close_bracket(source, place)
            case "text" | "number" | "keyword" | "word":
                self._check_atom(kind, source, place)
                self._items.append(SourceForm(kind, place, source))
            case _:
                self._refuse(place, _explain_stray(source))

    def _open_bracket(self, source: str, place: Place) -> None:
        if len(self._open) == MAX_DEPTH:
            self._refuse(place, f"this is nested more than {MAX_DEPTH} deep")
        inner: list[SourceForm] = []
        self._open.append((source, place, self._items))  # type: ignore[arg-type]
        self._items = inner

    def _close_bracket(self, source: str, place: Place) -> None:
        if not self._open:
            self._refuse(place, f"this {source} closes nothing")
            return
        opening, opened, outer = self._open.pop()
        if _PAIRS[opening] != source:
            where = f"the {opening} of {opened[0]}:{opened[1]}"
            self._refuse(place, f"{where} is closed by {_PAIRS[opening]}, not by {source}")
        outer.append(SourceForm(opening, opened, "", tuple(self._items)))
        self._items = outer

    def _check_atom(self, kind: str, source: str, place: Place) -> None:
        if kind == "number" and len(source) > 16:
            self._refuse(place, "the number is too long")
        elif kind == "text":
            for escape in re.finditer(r"\\(.)", source, re.DOTALL):
                if escape[1] not in _ESCAPES:
                    text = f'\\{escape[1]} is not known: there are \\n, \\t, \\" and \\\\'
                    self._refuse(place, text)
                    return

    def _find_only_form(self) -> SourceForm | None:
        if self._open or self.problems:
            return None
        if not self._items:
            self._refuse((1, 1), 'a behaviour begins with (tree "its name"')
            return None
        for extra in self._items[1:]:
            self._refuse(extra.place, "a file holds one behaviour: nothing may follow it")
        return self._items[0]

    def _refuse(self, place: Place, message: str) -> None:
        self.problems.append(PlacedProblem(*place, message))


def _explain_stray(source: str) -> str:
    """Return why letters are no form. Brackets of other scripts look like ours and are not."""
    first = source[0]
    if first == '"':
        return "this text is never closed"
    for character in source[:80]:
        if unicodedata.category(character) in ("Ps", "Pe", "Pi", "Pf"):
            ours = '(, ), [, ], {, } and "'
            return f"{character!r} cannot be used: brackets and quotes are {ours}"
    return f"{source[:40]!r} is not a word, a keyword, a number or a text"
