"""Finds written tool calls in streamed text, and holds back what may become one.

Text inside Markdown code is never a call: models explain the syntax there. A run of three or
more backticks opens code until a run at least as long; a shorter one until an equal run, or the
end of the line.
"""

import re
from collections.abc import Sequence

from agents.llm.decoding.text_calls.base import Family, NotACall, TextCall, TextCursor
from agents.llm.decoding.text_calls.openers import MAX_TICKS, TICKS_PATTERN, get_opener_index

MAX_CALL_LENGTH = 1 << 16
"""Characters held back for one call. A longer one stays text."""

_SPECIAL = re.compile("[<{`]")
_CODE_END = re.compile(TICKS_PATTERN)
_SPAN_END = re.compile(f"{TICKS_PATTERN}|\n")

ScanResult = tuple[str, Sequence[TextCall]]


class CallAttempt:
    """One family reading what may be one of its calls."""

    def __init__(self, family: Family) -> None:
        self.cursor = TextCursor()
        self._parse = family.parse(self.cursor)

    def read(self, text: str, final: bool) -> list[TextCall] | None:
        """Return the calls, none if the text is not a call, None if more text is needed."""
        self.cursor.text = text
        try:
            next(self._parse)
        except StopIteration as end:
            calls: list[TextCall] = end.value
            return calls if self.cursor.pos <= MAX_CALL_LENGTH else []
        except NotACall:
            return []
        return [] if final or len(text) > MAX_CALL_LENGTH else None


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
        """End the text: what is still open is no call."""
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
            found = self._attempt.read(text[pos : pos + MAX_CALL_LENGTH + 1], final)
            if found is None:
                break
            if not found:
                shown.append(text[pos])
            calls += found
            pos += self._attempt.cursor.pos if found else 1
            self._attempt = None
        self._held = text[pos:]
        self._last = text[pos - 1 : pos]
        return "".join(shown), calls

    def _start_attempt(self, text: str, pos: int) -> CallAttempt | None:
        family = self._openers.family_at(text, pos)
        return CallAttempt(family) if family else None

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
