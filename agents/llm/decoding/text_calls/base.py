"""The contract of a family of written tool calls, and the cursor its parser reads with.

A parser is a generator: it yields when it needs more text than there is, returns the calls when
the syntax is complete, and raises `NotACall` as soon as the text cannot be a call any more. It
reads forward only, so what it decides does not depend on how the text was cut into pieces.

A parser of several calls in one wrapper settles each of them as soon as it is complete
(`settle_inner`): they count even if the wrapper is never closed.
"""

import json
import re
from collections.abc import Generator
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, TypeVar

T = TypeVar("T")
Parse = Generator[None, None, T]


class NotACall(Exception):
    """The text is not a call of this family."""


class TextCall(NamedTuple):
    name: str
    arguments: str
    """A JSON text; of a malformed call, what was written."""
    problem: str = ""
    """Why a malformed call could not be read. It must not be run."""


UNCLOSED = "it is not closed"
MALFORMED = "its syntax is wrong"


class Family(Protocol):
    """One way of writing calls. `parse` begins at one of `openers`; none begins another.

    A family may also have `closers`, a closing tag by opener: a malformed call ends after it.
    """

    @property
    def openers(self) -> tuple[str, ...]: ...

    def parse(self, cursor: "TextCursor") -> Parse[list[TextCall]]: ...


_SPACE = re.compile(r"\s*")
_NAME = re.compile(r"[\w.:/-]*")
_OUTSIDE_STRINGS = re.compile(r"[\s,:0-9+\-.eEtrufalsn]*")
_INSIDE_STRING = re.compile(r'(?:[^"\\]+|\\.)*+', re.DOTALL)


class TextCursor:
    """A place in text that may still grow at its end."""

    __slots__ = ("calls", "last", "pos", "settled", "text")

    def __init__(self) -> None:
        self.text = ""
        self.pos = 0
        self.calls: list[TextCall] = []
        """Those that count, whatever follows them."""
        self.settled = 0
        """Where the last of them ends."""
        self.last: TextCall | None = None
        """A complete call that counts if nothing follows it but a part of its closing tag."""

    def settle(self, call: TextCall) -> None:
        """Let a call count that ends here."""
        self.calls.append(call)
        self.settled = self.pos

    def settle_inner(
        self, parse: Parse[TextCall], ends: tuple[str, ...], stops: tuple[str, ...]
    ) -> Parse[None]:
        """Read a call inside a wrapper and let it count, also if it is malformed."""
        try:
            call = yield from parse
        except NotACall:
            yield from self.settle_malformed(ends, stops)
        else:
            self.settle(call)

    def settle_malformed(self, ends: tuple[str, ...], stops: tuple[str, ...]) -> Parse[None]:
        """Read the rest of a malformed call: over one of `ends`, or up to one of `stops`.

        After a backtick, code cannot be told from calls: then all the rest belongs to it.
        """
        match = yield from self.find((*ends, *stops, "`"))
        while match[0] == "`":
            yield
        self.pos = match.end() if match[0] in ends else match.start()
        self.settle(build_malformed_call(self.text[self.settled : self.pos], MALFORMED))

    def find(self, tokens: tuple[str, ...]) -> Parse[re.Match[str]]:
        """Return where the first of some tokens is. None of them overlaps another."""
        pattern, search = _compile(tokens), self.pos
        longest = max(map(len, tokens))
        while (match := pattern.search(self.text, search)) is None:
            search = max(self.pos, len(self.text) - longest + 1)
            yield
        return match

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
                self.pos -= 1  # it may begin the closing tag
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


@lru_cache(maxsize=64)
def _compile(tokens: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, tokens)))


def build_malformed_call(written: str, why: str) -> TextCall:
    problem = (
        f"This tool call could not be read: {why}. It was not run. Write it again, complete; "
        "put examples into a code block."
    )
    return TextCall("", written.strip(), problem)


def build_call(name: str, arguments: object) -> TextCall:
    try:
        return TextCall(name, json.dumps(arguments, allow_nan=False))
    except ValueError:
        raise NotACall from None


def _refuse_constant(constant: str) -> None:
    raise ValueError(constant)
