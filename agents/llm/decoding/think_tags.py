"""Reasoning that a model writes into its answer, between <think> tags at the beginning. No I/O.

Servers that know a model's format send reasoning in a field of its own. Others pass on what the
model wrote; without this, people would read `<think>` and the reasoning as the answer.
"""

from enum import Enum

OPEN = "<think>"
CLOSE = "</think>"


class _Position(Enum):
    START = "start"
    INSIDE = "inside"
    AFTER = "after"


class ThinkTagSplitter:
    """Feed text, get (is reasoning, text) pieces. The same for every split of the text."""

    __slots__ = ("_held", "_position")

    def __init__(self) -> None:
        self._position = _Position.START
        self._held = ""

    @property
    def is_past(self) -> bool:
        """Whether all further text is the answer: from then on there is nothing to look for."""
        return self._position is _Position.AFTER

    def feed(self, text: str) -> list[tuple[bool, str]]:
        text = self._held + text
        self._held = ""
        pieces: list[tuple[bool, str]] = []
        if self._position is _Position.START:
            text = self._skip_open_tag(text)
        if self._position is _Position.INSIDE:
            text = self._split_at_close_tag(text, pieces)
        if self._position is _Position.AFTER and text:
            pieces.append((False, text))
        return pieces

    def flush(self) -> list[tuple[bool, str]]:
        """End the text: return what was held back, as what it then is."""
        held, self._held = self._held, ""
        return [(self._position is _Position.INSIDE, held)] if held else []

    def _skip_open_tag(self, text: str) -> str:
        """Skip the opening tag, if there is one; what may become one is held."""
        begun = text.lstrip()
        if begun.startswith(OPEN):
            self._position = _Position.INSIDE
            return begun[len(OPEN) :]
        if OPEN.startswith(begun):
            self._held = text
            return ""
        self._position = _Position.AFTER
        return text

    def _split_at_close_tag(self, text: str, pieces: list[tuple[bool, str]]) -> str:
        """Split at the closing tag; what may become one is held."""
        thought, close, rest = text.partition(CLOSE)
        if not close:
            keep = _overlap(text)
            thought, self._held = text[: len(text) - keep], text[len(text) - keep :]
        else:
            self._position = _Position.AFTER
        if thought:
            pieces.append((True, thought))
        return rest


def _overlap(text: str) -> int:
    """Return how many characters at the end of a text may be the beginning of the closing tag."""
    return next(size for size in range(len(CLOSE) - 1, -1, -1) if text.endswith(CLOSE[:size]))
