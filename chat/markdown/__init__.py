"""Answers as HTML: blocks that are closed once, sanitised, and the same live as after a reload.

    Splitter    text deltas to top-level blocks, by whole lines (splitter, opened, lines)
    block_html  one block to HTML: markdown-it, pygments, and nh3 last (rendering, rules, code)
    Tail        the open block, its open marks closed for it (tail, mending)
    Stream      the three together, one per answer being shown (stream)

What differs from CommonMark, on purpose:

- HTML is text, images are links, headings start at h3.
- `[label]: address` stays on the page and its address is a link; `[text][label]` stays text. So a
  block never depends on a later one, and what was shown is never touched again.
- What grows beyond `LIMIT` is cut: a paragraph at the end of a sentence, a list between items, a
  table between rows (its head is repeated), code between lines. Pieces of code, lists and tables
  have the class `more`, for the style sheet to join them.
"""

from chat.markdown.rules import Link
from chat.markdown.stream import Stream, render

__all__ = ["Link", "Stream", "render"]
