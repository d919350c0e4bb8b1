"""Text deltas to top-level blocks.

Whole lines decide, and within a line only its beginning, so how the text was cut into deltas
cannot matter.
"""

from chat.markdown import blocks as size
from chat.markdown.block_parser import BlockState
from chat.markdown.blocks import Block, PlainBlock, find_line_end
from chat.markdown.budget import RenderBudget

CHUNK_CHARS = 16_384
"""Characters of a delta that are read at once."""


class Splitter:
    """Sans I/O: `feed` and `flush` return the blocks that are closed, `open_parts` what is open.

    A delta within a line is only kept; no delta costs more than a look at its own lines. Closed
    blocks are paid for; when the account is empty, the rest is plain text and its lines are not
    looked at.
    """

    def __init__(self, budget: RenderBudget | None = None) -> None:
        self._pending_return = ""  # a carriage return whose line feed may come with the next delta
        self._line = ""  # the last line, until its end comes
        self._is_line_blank = True  # the line has no text yet that tells what it is
        self._state = BlockState()
        self._budget = budget or RenderBudget()

    def feed(self, text: str) -> list[Block]:
        if len(text) <= CHUNK_CHARS:
            return self._feed_chunk(text)
        pieces = (text[at : at + CHUNK_CHARS] for at in range(0, len(text), CHUNK_CHARS))
        return [block for piece in pieces for block in self._feed_chunk(piece)]

    def flush(self) -> list[Block]:
        closed = self.feed("\n") if self._line or self._pending_return else []
        if self._budget.is_exhausted():
            closed += [PlainBlock(self._line)] if self._line else []
            self._line = ""
        else:
            closed += self._close()
        return closed

    def open_parts(self) -> list[Block]:
        if self._budget.is_exhausted():
            return [PlainBlock(self._line)] if self._line else []
        return self._state.open_parts(self._line)

    def _feed_chunk(self, text: str) -> list[Block]:
        if "\r" in text or self._pending_return:
            text = self._normalize_newlines(text)
        if self._budget.is_exhausted():
            return self._feed_plain(text)
        if (
            "\n" not in text
            and not self._is_line_blank
            and len(self._line) + len(text) <= size.SOFT_LIMIT_CHARS
        ):
            self._line += text
            return []
        closed: list[Block] = []
        lines = (self._line + text).split("\n")
        for number, line in enumerate(lines[:-1], start=1):
            self._line = line
            closed += self._close_and_cut()
            if self._budget.is_exhausted():
                return closed + self._switch_to_plain("\n".join([self._line, *lines[number:]]))
            closed += self._feed_line()
            if self._budget.is_exhausted():
                return closed + self._switch_to_plain("\n".join(lines[number:]))
        self._line = lines[-1]
        self._is_line_blank = not self._line.strip(" \t")
        closed += self._close_and_cut()
        return closed + self._switch_to_plain(self._line) if self._budget.is_exhausted() else closed

    def _normalize_newlines(self, text: str) -> str:
        text = self._pending_return + text
        self._pending_return = "\r" if text.endswith("\r") else ""
        return text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n")

    def _close_and_cut(self) -> list[Block]:
        """Close what the line is certain to end, and cut the line where it is too long."""
        closed: list[Block] = []
        if self._state.is_ended_by_prefix(self._line):
            closed += self._close()
        while len(self._line) > size.SOFT_LIMIT_CHARS and not self._budget.is_exhausted():
            more, self._state, self._line = self._state.cut(self._line)
            closed += self._charge(more)
        return closed

    def _feed_line(self) -> list[Block]:
        self._budget.charge_line()
        closed, self._state = self._state.feed(self._line)
        return self._charge(closed)

    def _close(self) -> list[Block]:
        closed, self._state = self._state.flush(), BlockState()
        return self._charge(closed)

    def _charge(self, closed: list[Block]) -> list[Block]:
        return [self._budget.charge_block(block) for block in closed]

    def _switch_to_plain(self, rest: str) -> list[Block]:
        """Close what is open and read no more lines: the account has just become empty."""
        closed = self._close()
        self._line = ""
        return closed + self._feed_plain(rest)

    def _feed_plain(self, text: str) -> list[Block]:
        self._line += text
        closed: list[Block] = []
        while len(self._line) > size.SOFT_LIMIT_CHARS:
            at = find_line_end(self._line)
            closed.append(PlainBlock(self._line[:at]))
            self._line = self._line[at:]
        return closed
