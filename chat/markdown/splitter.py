"""Text deltas to top-level blocks.

Whole lines decide, and within a line only its beginning, so how the text was cut into deltas
cannot matter.
"""

from chat.markdown import blocks as size
from chat.markdown.blocks import Block
from chat.markdown.opened import Opened


class Splitter:
    """Sans I/O: `feed` and `finish` return the blocks that are closed, `parts` what is open.

    A delta within a line is only kept; no delta costs more than a look at its own lines.
    """

    def __init__(self) -> None:
        self._held = ""  # a carriage return whose line feed may come with the next delta
        self._line = ""  # the last line, until its end comes
        self._fresh = True  # the line has no text yet that tells what it is
        self._opened = Opened()

    def feed(self, text: str) -> list[Block]:
        if "\r" in text or self._held:
            text = self._newlines(text)
        if "\n" not in text and not self._fresh and len(self._line) + len(text) <= size.LIMIT:
            self._line += text
            return []
        closed: list[Block] = []
        *whole, rest = (self._line + text).split("\n")
        for line in whole:
            self._line = line
            closed += self._fit()
            more, self._opened = self._opened.take(self._line)
            closed += more
        self._line = rest
        self._fresh = not rest.strip(" \t")
        return closed + self._fit()

    def finish(self) -> list[Block]:
        closed = self.feed("\n") if self._line or self._held else []
        closed += self._opened.close()
        self._opened = Opened()
        return closed

    def parts(self) -> list[Block]:
        return self._opened.parts(self._line)

    def _newlines(self, text: str) -> str:
        text = self._held + text
        self._held = "\r" if text.endswith("\r") else ""
        return text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n")

    def _fit(self) -> list[Block]:
        """Close what the line is certain to end, and cut the line where it is too long."""
        closed: list[Block] = []
        if self._opened.is_over(self._line):
            closed += self._opened.close()
            self._opened = Opened()
        while len(self._line) > size.LIMIT:
            more, self._opened, self._line = self._opened.cut(self._line)
            closed += more
        return closed
