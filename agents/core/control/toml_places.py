"""Where the keys and values of a TOML text stand: what the standard library's reader does not tell.

Only texts that were read without a mistake come here, so nothing is checked again.
"""

import re
from collections.abc import Iterator

Path = tuple[str | int, ...]
"""Names of tables and keys, and numbers of items: ("action", 0, "type")."""

_SPACE = re.compile(r"[ \t]*")
_BLANK = re.compile(r"(?:[ \t\n]+|#[^\n]*)*")
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}#\n]*")
_ESCAPE = re.compile(r"\\(?:(?P<gap>[ \t]*\n[ \t\n]*)|u.{4}|U.{8}|.)")
_QUOTES = ('"""', "'''", '"', "'")


class TomlPlaces:
    """Offsets into a text, by path: of a name, of what it is given, of each character of a text."""

    def __init__(self, text: str) -> None:
        self.names: dict[Path, int] = {}
        self.values: dict[Path, int] = {}
        self.characters: dict[Path, list[int]] = {}
        """For texts: where each character was written, and at last where the text ends."""
        self._text, self._at = text, 0
        self._table: Path = ()
        self._counts: dict[Path, int] = {}
        while self._skip(_BLANK) < len(text):
            if text[self._at] == "[":
                self._read_header()
            else:
                self._read_pair(self._table)

    def locate(self, offset: int) -> tuple[int, int]:
        """Return the line and the column of an offset, both counted from one."""
        before = self._text[:offset]
        return before.count("\n") + 1, offset - before.rfind("\n")

    def _skip(self, what: re.Pattern[str]) -> int:
        found = what.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return self._at

    def _read_header(self) -> None:
        is_list = self._text.startswith("[[", self._at)
        self._at += 1 + is_list
        path: Path = ()
        for name, offset in self._read_names():
            path = (*self._find_last(path), name)
            self.names.setdefault(path, offset)
        if is_list:
            self._counts[path] = self._counts.get(path, 0) + 1
            path = self._find_last(path)
            self.names[path] = offset
        self._table = path
        self._at += 1 + is_list

    def _find_last(self, path: Path) -> Path:
        """Return the newest of the tables of a list, or the path itself if it is no list."""
        count = self._counts.get(path)
        return (*path, count - 1) if count else path

    def _read_pair(self, table: Path) -> None:
        path = table
        for name, offset in self._read_names():
            path = (*path, name)
            self.names.setdefault(path, offset)
        self._at += 1  # the equals sign
        self._skip(_SPACE)
        self._read_value(path)

    def _read_names(self) -> Iterator[tuple[str, int]]:
        """Yield the parts of a dotted name, each with its offset."""
        while True:
            start = self._skip(_SPACE)
            if self._text[start] in "\"'":
                offsets = self._read_text()
                name = "".join(self._text[at] for at in offsets[:-1])
            else:
                name = self._text[start : self._skip(_NAME)]
            yield name, start
            if self._text[self._skip(_SPACE)] != ".":
                return
            self._at += 1

    def _read_value(self, path: Path) -> None:
        self.values[path] = self._at
        match self._text[self._at]:
            case "[":
                self._read_list(path)
            case "{":
                self._read_inline_table(path)
            case '"' | "'":
                self.characters[path] = self._read_text()
            case _:
                self._skip(_SCALAR)

    def _read_list(self, path: Path) -> None:
        self._at += 1
        count = 0
        while self._text[self._skip(_BLANK)] != "]":
            if self._text[self._at] == ",":
                self._at += 1
                continue
            self._read_value((*path, count))
            count += 1
        self._at += 1

    def _read_inline_table(self, path: Path) -> None:
        self._at += 1
        while self._text[self._skip(_BLANK)] != "}":
            if self._text[self._at] == ",":
                self._at += 1
                continue
            self._read_pair(path)
        self._at += 1

    def _read_text(self) -> list[int]:
        """Return where the characters of a text were written; an escape is one character."""
        text = self._text
        quote = next(quote for quote in _QUOTES if text.startswith(quote, self._at))
        self._at += len(quote)
        if len(quote) == 3 and text[self._at] == "\n":
            self._at += 1
        offsets: list[int] = []
        while not self._ends_with(quote):
            escape = _ESCAPE.match(text, self._at) if quote[0] == '"' else None
            if not (escape and escape["gap"]):
                offsets.append(self._at)
            self._at = escape.end() if escape else self._at + 1
        offsets.append(self._at)
        self._at += len(quote)
        return offsets

    def _ends_with(self, quote: str) -> bool:
        """Return whether a text ends here. A quote just before the last three belongs to it."""
        after = self._at + len(quote)
        is_early = len(quote) == 3 and self._text[after : after + 1] == quote[0]
        return self._text.startswith(quote, self._at) and not is_early
