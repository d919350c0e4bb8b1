"""Finds written tool calls in streamed text, and holds back what may become one.

Text inside Markdown code is never a call: models explain the syntax there. A run of three or
more backticks opens code until a run at least as long; a shorter one until an equal run, or the
end of the line.

A complete opening marker begins a call. If the call is not closed or its syntax is wrong, it is
malformed, and hidden with its markup. Only where nothing after the marker is of the call's syntax
is the marker a word of the text: "models write <tool_call> first".
"""

import re
from collections.abc import Sequence

from agents.llm.decoding.text_calls.base import (
    MALFORMED,
    UNCLOSED,
    Family,
    NotACall,
    Parse,
    TextCall,
    TextCursor,
    build_malformed_call,
)
from agents.llm.decoding.text_calls.openers import MAX_TICKS, TICKS_PATTERN, get_opener_index

MAX_CALL_LENGTH = 1 << 16
"""Characters held back for one call. A longer one stays text."""

_SPECIAL = re.compile("[<{`]")
_CODE_END = re.compile(TICKS_PATTERN)
_SPAN_END = re.compile(f"{TICKS_PATTERN}|\n")
_NAME = re.compile(r"[\w.:/-]+")
_NO_NAME = "unknown"
_NAME_CHARS = 200
"""At the beginning of a malformed call, where its tool is looked for."""

ScanResult = tuple[str, Sequence[TextCall]]


class CallAttempt:
    """One family reading what may be one of its calls."""

    def __init__(self, family: Family, opener: str, tags: tuple[str, ...]) -> None:
        self._cursor = TextCursor()
        self._family = family
        self._opener = opener
        closer = getattr(family, "closers", {}).get(opener)
        self._closers: tuple[str, ...] = (closer,) if closer else ()
        self._tags = tags
        self._at_end = UNCLOSED
        """Why the call is malformed if the answer ends now; empty: it is no call."""
        self._steps = self._read()

    def read(self, text: str, final: bool) -> tuple[int, list[TextCall]] | None:
        """Return the length of what was read and its calls; None if more text is needed.

        Without calls, what was read is text.
        """
        cursor = self._cursor
        cursor.text = text
        try:
            next(self._steps)
        except StopIteration as end:
            if end.value <= MAX_CALL_LENGTH:
                return end.value, cursor.calls
        if len(text) > MAX_CALL_LENGTH:
            return (cursor.settled, cursor.calls) if cursor.settled else (len(self._opener), [])
        return self._end(text) if final else None

    def _read(self) -> Parse[int]:
        """Read the call; return how long it is."""
        cursor = self._cursor
        try:
            cursor.calls = yield from self._family.parse(cursor)
        except NotACall:
            return (yield from self._read_refuted())
        if not cursor.calls:
            cursor.settle(build_malformed_call(cursor.text[: cursor.pos], MALFORMED))
        return cursor.pos

    def _read_refuted(self) -> Parse[int]:
        """Read on where the text is not of the family's syntax."""
        cursor, closers = self._cursor, self._closers
        if self._is_inside_call():
            self._at_end = MALFORMED
            yield from cursor.settle_malformed(closers, self._tags)
            return cursor.pos
        if not closers:
            return cursor.settled or len(self._opener)
        self._at_end = ""
        paragraph_end = "\n" if cursor.settled else "\n\n"
        match = yield from cursor.find((*closers, *self._tags, paragraph_end, "`"))
        if match[0] not in closers:
            return cursor.settled or len(self._opener)
        length = cursor.pos = match.end()
        if cursor.settled:  # after complete calls: the rest of their wrapper
            return length
        self._at_end = MALFORMED
        yield from cursor.skip_space()
        if cursor.text[cursor.pos] != "<":
            return len(self._opener)  # a sentence about the tags
        cursor.settle(build_malformed_call(cursor.text[:length], MALFORMED))
        return length

    def _end(self, text: str) -> tuple[int, list[TextCall]]:
        """Return what the text is if it ends here."""
        cursor = self._cursor
        if not self._at_end:
            return cursor.settled or len(self._opener), cursor.calls
        if cursor.last is not None and self._at_end == UNCLOSED:
            cursor.calls.append(cursor.last)
        elif not cursor.settled or self._is_inside_call():
            cursor.calls.append(build_malformed_call(text[cursor.settled :], self._at_end))
        return len(text), cursor.calls

    def _is_inside_call(self) -> bool:
        """Whether something was read of a call that has not ended."""
        cursor = self._cursor
        begin = max(cursor.settled, len(self._opener))
        return not cursor.text[begin : cursor.pos].isspace() and begin < cursor.pos


class TextCallScanner:
    """`feed` returns the text to show and the calls; joined, the same for every split."""

    __slots__ = ("_attempt", "_code", "_held", "_last", "_openers")

    def __init__(self, known: frozenset[str] = frozenset()) -> None:
        self._openers = get_opener_index(known)
        self._held = ""
        self._last = ""  # the decided text before what is held; its last character matters
        self._code = 0  # backticks that opened the code we are in
        self._attempt: CallAttempt | None = None

    def feed(self, text: str) -> ScanResult:
        if not self._held and self._is_plain(text):
            self._last = text or self._last
            return text, ()
        self._held += text
        return self._scan(final=False)

    def flush(self) -> ScanResult:
        """End the text: a call that is still open is malformed."""
        return self._scan(final=True)

    def flush_raw(self) -> str:
        """Give up: all that is held back, as it was written."""
        held, self._held, self._attempt = self._held, "", None
        return held

    def _is_plain(self, text: str) -> bool:
        """Return whether no call begins, ends or may begin in `text`. Cheap: prose is the rule."""
        if self._code:
            return "`" not in text and (self._code > 2 or "\n" not in text)
        if _SPECIAL.search(text):
            return False
        word = text.rpartition(" ")[2]
        if word.isalnum():
            return word not in self._openers.word_prefixes
        return not word or self._openers.find_last_word(text, 0) == len(text)

    def _scan(self, final: bool) -> ScanResult:
        shown: list[str] = []
        calls: list[TextCall] = []
        text = self._last[-1:] + self._held
        pos = len(text) - len(self._held)
        while pos < len(text):
            if not self._attempt:
                start = self._find_call_start(text, pos, final)
                shown.append(text[pos:start])
                pos = start
                self._attempt = self._start_attempt(text, pos)
            if not self._attempt:
                break
            reading = self._attempt.read(text[pos : pos + MAX_CALL_LENGTH + 1], final)
            if reading is None:
                break
            length, new_calls = reading
            if not new_calls:
                shown.append(text[pos : pos + length])
            calls += map(self._name_malformed, new_calls)
            pos += length
            self._attempt = None
        self._held = text[pos:]
        self._last = text[pos - 1 : pos]
        return "".join(shown), calls

    def _start_attempt(self, text: str, pos: int) -> CallAttempt | None:
        opener = self._openers.opener.match(text, pos)
        if not opener:
            return None
        index = self._openers
        return CallAttempt(index.families[opener[0]], opener[0], index.tags)

    def _name_malformed(self, call: TextCall) -> TextCall:
        """Name a malformed call after the first known tool that is in it."""
        if not call.problem:
            return call
        words = _NAME.findall(call.arguments[:_NAME_CHARS])
        names = filter(self._openers.known.__contains__, words)
        return call._replace(name=next(names, _NO_NAME))

    def _find_call_start(self, text: str, pos: int, final: bool) -> int:
        """Go over prose and code to where a call begins, or may begin at the end of the text."""
        grammar = self._openers
        while True:
            if self._code:
                match = (_CODE_END if self._code > 2 else _SPAN_END).search(text, pos)
            else:
                match = grammar.token.search(text, pos)
            if not match:
                return len(text) if final or self._code else grammar.find_last_word(text, pos)
            start, pos = match.span()
            if self._code or match[0][0] == "`":
                if pos == len(text) and _may_grow(match[0]) and not final:
                    return start
                self._track_code(match[0])
            elif grammar.family_at(text, start) or (not final and grammar.may_begin(text, start)):
                return start

    def _track_code(self, mark: str) -> None:
        """Go over a run of backticks, or the end of a line with an open code span."""
        length = len(mark)
        if not self._code:
            self._code = length
        elif mark == "\n" or length == self._code or (self._code > 2 and length > self._code):
            self._code = 0


def _may_grow(mark: str) -> bool:
    return mark != "\n" and len(mark) < MAX_TICKS
