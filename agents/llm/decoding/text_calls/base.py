"""What a family of written tool calls owes, and the cursor its parser reads with.

A parser is a generator: it yields when it needs more text than there is, returns the calls when
the syntax is complete, and raises `NotACall` as soon as the text cannot be a call any more. It
reads forward only, so what it decides does not depend on how the text was cut into pieces.
"""

import json
import re
from collections.abc import Generator
from typing import Any, NamedTuple, Protocol, TypeVar

T = TypeVar("T")
Parse = Generator[None, None, T]


class NotACall(Exception):
    """The text is not a call of this family."""


class TextCall(NamedTuple):
    name: str
    arguments: str
    """A JSON text."""


class Family(Protocol):
    """One way of writing calls. `parse` begins at one of `openers`; none begins another."""

    @property
    def openers(self) -> tuple[str, ...]: ...

    def parse(self, cursor: "TextCursor") -> Parse[list[TextCall]]: ...


_SPACE = re.compile(r"\s*")
_NAME = re.compile(r"[\w.:/-]*")
_OUTSIDE_STRINGS = re.compile(r"[\s,:0-9+\-.eEtrufalsn]*")
_INSIDE_STRING = re.compile(r'(?:[^"\\]+|\\.)*+', re.DOTALL)


class TextCursor:
    """A place in text that may still grow at its end."""

    __slots__ = ("pos", "text")

    def __init__(self) -> None:
        self.text = ""
        self.pos = 0

    def skip_space(self) -> Parse[None]:
        """Skip white space, up to a character that is none."""
        yield from self._skip(_SPACE)

    def read_name(self) -> Parse[str]:
        start = self.pos
        yield from self._skip(_NAME)
        if self.pos == start:
            raise NotACall
        return self.text[start : self.pos]

    def expect(self, expected: str) -> Parse[None]:
        yield from self.read_one_of(expected)

    def read_one_of(self, *options: str) -> Parse[str]:
        """Read one of some literals."""
        option = yield from self.peek(*options)
        self.pos += len(option)
        return option

    def peek(self, *options: str) -> Parse[str]:
        """Return which of some literals comes next; none of them begins another."""
        longest = max(map(len, options))
        while True:
            text = self.text[self.pos : self.pos + longest]
            for option in options:
                if text.startswith(option):
                    return option
            if not any(option.startswith(text) for option in options):
                raise NotACall
            yield

    def read_until(self, end: str) -> Parse[str]:
        """Read up to and over `end`; return what is before it."""
        start = search = self.pos
        while (found := self.text.find(end, search)) < 0:
            search = max(start, len(self.text) - len(end) + 1)
            yield
        self.pos = found + len(end)
        return self.text[start:found]

    def read_json_object(self) -> Parse[dict[str, Any]]:
        """Read one JSON object, whatever tags and braces its strings hold."""
        start = self.pos
        depth = 0
        while True:
            yield from self._skip(_OUTSIDE_STRINGS if depth else _SPACE)
            char = self.text[self.pos]
            self.pos += 1
            if char == "{" or (char == "[" and depth):
                depth += 1
            elif char in "}]" and depth:
                depth -= 1
                if not depth:
                    return parse_json_object(self.text[start : self.pos])
            elif char == '"' and depth:
                yield from self._skip(_INSIDE_STRING, '"')
                self.pos += 1
            else:
                raise NotACall

    def _skip(self, pattern: re.Pattern[str], end: str = "") -> Parse[None]:
        """Move over what `pattern` matches, until a character follows (`end`, if given)."""
        while True:
            match = pattern.match(self.text, self.pos)
            self.pos = match.end() if match else self.pos
            if self.text.startswith(end, self.pos) and self.pos < len(self.text):
                return
            yield


def parse_json_object(text: str) -> dict[str, Any]:
    """Parse a model's JSON: line breaks inside strings are forgiven."""
    try:
        value = json.loads(text, strict=False, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise NotACall from None
    if not isinstance(value, dict):
        raise NotACall
    return value


def parse_parameter(text: str) -> object:
    """Return a parameter's value: JSON if that is more than a string, else as written."""
    if text.startswith("\n"):
        text = text[1:].removesuffix("\n")
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return text
    return text if isinstance(value, str) else value


def build_call(name: str, arguments: object) -> TextCall:
    try:
        return TextCall(name, json.dumps(arguments, allow_nan=False))
    except ValueError:
        raise NotACall from None


def _refuse_constant(constant: str) -> None:
    raise ValueError(constant)
