"""Answers as HTML: blocks that are closed once, sanitised, and the same live as after a reload.

    Splitter    text deltas to top-level blocks, by whole lines (splitter, block_parser, line_types)
    render_block  one block to HTML: markdown-it, pygments, nh3 (rendering, plugins, highlight)
    OpenBlockRenderer  the open block, its open marks closed for it (open_block, autoclose)
    RenderBudget  what an answer may cost, over all its streams (budget)
    MarkdownStream  all of them together, one per part of an answer being shown (stream)

What differs from CommonMark, on purpose:

- HTML is text, images are links, headings start at h3 and skip no level (heading_order).
- `[label]: address` stays on the page and its address is a link; `[text][label]` stays text. So a
  block never depends on a later one, and what was shown is never touched again.
- What grows beyond `SOFT_LIMIT_CHARS` is cut: a paragraph after a sentence, a list between items, a
  table between rows (its head is repeated), code between lines. Pieces of code, lists and tables
  have the class `more`, for the style sheet to join them.
"""

from chat.markdown.budget import RenderBudget
from chat.markdown.plugins import LinkResolver
from chat.markdown.stream import MarkdownStream, render

__all__ = ["LinkResolver", "MarkdownStream", "RenderBudget", "render"]
