"""An answer on its way to the page."""

from chat.markdown.blocks import Block
from chat.markdown.budget import RenderBudget
from chat.markdown.heading_order import order_headings
from chat.markdown.open_block import OpenBlockRenderer
from chat.markdown.plugins import LinkResolver
from chat.markdown.rendering import render_block
from chat.markdown.splitter import Splitter


class MarkdownStream:
    """Sans I/O. What `feed` and `flush` return is final, `render_open_block` is replaced.

    `link` must answer the same for the same path while an answer is shown, live and later. Streams
    that are shown as one answer share its `budget`.
    """

    def __init__(
        self, link: LinkResolver | None = None, budget: RenderBudget | None = None
    ) -> None:
        self._link = link
        self._splitter = Splitter(budget)
        self._open_block = OpenBlockRenderer(link)
        self._levels: list[int] = []  # of the headings that the next block is below

    def feed(self, text: str) -> list[str]:
        """Return blocks that this text closed, as HTML."""
        blocks = self._splitter.feed(text)
        return self._render_closed(blocks) if blocks else []

    def flush(self) -> list[str]:
        """Return the rest. The tail is empty then."""
        return self._render_closed(self._splitter.flush())

    def render_open_block(self) -> str:
        """Return the block that is still open, as HTML; bounded work, however long it is."""
        html = self._open_block.render(self._splitter.open_parts())
        return order_headings(html, self._levels)[0]

    def _render_closed(self, blocks: list[Block]) -> list[str]:
        self._open_block.reset()
        return [self._render_block(block) for block in blocks]

    def _render_block(self, block: Block) -> str:
        html, self._levels = order_headings(render_block(block, self._link), self._levels)
        return html


def render(
    text: str, link: LinkResolver | None = None, budget: RenderBudget | None = None
) -> list[str]:
    """Render all blocks of a finished answer, so that a reload shows what live showed."""
    stream = MarkdownStream(link, budget)
    return stream.feed(text) + stream.flush()
