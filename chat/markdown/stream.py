"""An answer on its way to the page."""

from chat.markdown.blocks import Block
from chat.markdown.rendering import block_html
from chat.markdown.rules import Link
from chat.markdown.splitter import Splitter
from chat.markdown.tail import Tail


class Stream:
    """Sans I/O. What `feed` and `finish` return is final; what `tail` returns is replaced.

    `link` must answer the same for the same path while an answer is shown, live and later.
    """

    def __init__(self, link: Link | None = None) -> None:
        self._link = link
        self._splitter = Splitter()
        self._tail = Tail(link)

    def feed(self, text: str) -> list[str]:
        """Blocks that this text closed, as HTML."""
        blocks = self._splitter.feed(text)
        return self._closed(blocks) if blocks else []

    def finish(self) -> list[str]:
        """The rest. The tail is empty then."""
        return self._closed(self._splitter.finish())

    def tail(self) -> str:
        """The block that is still open, as HTML; bounded work, however long it is."""
        return self._tail.html(self._splitter.parts())

    def _closed(self, blocks: list[Block]) -> list[str]:
        self._tail.forget()
        return [block_html(block, self._link) for block in blocks]


def render(text: str, link: Link | None = None) -> list[str]:
    """All blocks of a finished answer: by the same way, so a reload shows what live showed."""
    stream = Stream(link)
    return stream.feed(text) + stream.finish()
