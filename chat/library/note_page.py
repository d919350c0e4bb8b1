"""A note as a page shows it: a stretch of its text, and a stretch of its lines."""

import hashlib
from dataclasses import dataclass

from agents.search.sections import split_lines
from agents.vault.frontmatter import BYTE_ORDER_MARK, read_frontmatter
from chat.markdown import RenderBudget, render
from chat.rendering import quota
from chat.rendering.cache import RenderCache
from chat.rendering.fragments import NOTE_LINES, PAGE_CHARS, find_page_end

MAX_CACHED_CHARS = 16_000_000
"""Characters of notes that a process keeps as HTML."""

_cache: RenderCache[str, list[str]] = RenderCache(
    MAX_CACHED_CHARS, lambda blocks: sum(map(len, blocks))
)


@dataclass(frozen=True, slots=True)
class NotePage:
    """`block` and `line` are where the next stretch begins, `earlier` where the one before does."""

    blocks: list[str]
    block: int | None
    lines: list[tuple[int, str]]
    line: int | None
    earlier: int | None

    @property
    def first(self) -> int:
        """The number of the first line that is shown."""
        return self.lines[0][0] if self.lines else 1


def build_note_page(text: str, block: int, line: int) -> NotePage:
    """The text from a block on, and the lines around a line."""
    all_lines = split_lines(text.removeprefix(BYTE_ORDER_MARK))
    blocks = _render_cached("\n".join(all_lines[read_frontmatter(all_lines).end :]))
    end = find_page_end(blocks, block, PAGE_CHARS)
    first = max(0, min(line, len(all_lines)) - 1) // NOTE_LINES * NOTE_LINES
    last = first + NOTE_LINES
    return NotePage(
        blocks=blocks[block:end],
        block=end if end < len(blocks) else None,
        lines=list(enumerate(all_lines[first:last], first + 1)),
        line=last + 1 if last < len(all_lines) else None,
        earlier=first + 1 - NOTE_LINES if first else None,
    )


def _render_cached(text: str) -> list[str]:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return _cache.get_or_create(digest, lambda: _render_blocks(text))


def _render_blocks(text: str) -> list[str]:
    budget = RenderBudget()
    blocks = render(text, budget=budget)
    quota.add_cost(budget.spent)
    return blocks
