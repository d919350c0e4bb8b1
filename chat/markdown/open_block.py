"""The open block, shown again with every frame, so cheap for what most frames add."""

import re

from agents.core.sanitize import replace_unstorable
from chat.markdown.autoclose import close_open_marks
from chat.markdown.blocks import SOFT_LIMIT_CHARS, Block, CodeBlock, PlainBlock, ProseBlock
from chat.markdown.budget import MAX_BLOCK_COST, MAX_OPEN_BLOCK_COST, estimate_cost
from chat.markdown.highlight import escape
from chat.markdown.plugins import LinkResolver
from chat.markdown.rendering import render_block, render_plain

_PREVIEW_CHARS = SOFT_LIMIT_CHARS // 2
"""Of a block that cannot be cut and is over twice `SOFT_LIMIT_CHARS`, or that weighs too much to be
parsed for every frame, only so much of its end, or up to twice as much."""
_MARKUP = re.compile(r"[\n\t\\`*_~\[\]<>&|#]|://")
_WHOLE_WORD = re.compile(r"(?P<word>(?:(?<!\S)[^\W\d_]|(?<=\w )\d)[\w'.,;!?-]*)\Z")
"""A last word that nothing but markup could make into anything else: not the number of an item."""
_ENDS = re.compile(r"(?:</(?:p|li|ul|ol|blockquote|h[3-6])>\s*)+\Z")
_CODE_ENDS = re.compile(r"</code></pre></div>\s*\Z")
_SEAMS = (
    (
        "</tbody>\n</table></div>\n",
        re.compile(r'<div class="table" tabindex="0">.*?(?:<tbody>\n|\Z)', re.DOTALL),
    ),
    ("</ul>\n", re.compile(r"<ul[^>]*>\n")),
    ("</ol>\n", re.compile(r"<ol[^>]*>\n")),
)
"""How a part of a table or list ends, and how its next part begins."""


class OpenBlockRenderer:
    """Remembers what it rendered: the finished parts of a list or table, and of the last part
    enough to put words in where they belong, so that most frames need no parser."""

    def __init__(self, link: LinkResolver | None) -> None:
        self._link = link
        self._parts: list[Block] = []  # those above the last, which stay as they are
        self._above = ""
        self._weight = 0  # of those
        self.reset()

    def reset(self) -> None:
        """Start over: the block that was open is closed."""
        self._base = ""  # text that was rendered, if what follows can be put in
        self._html = ("", "")  # before and after the place for it

    def render(self, parts: list[Block]) -> str:
        if not parts:
            return ""
        *done, last = parts
        self._render_finished(done)
        added = self._append_text(last)
        shown = self._render_fresh(last) if added is None else added
        return shown if self._weight > MAX_BLOCK_COST else merge_list_parts(self._above, shown)

    def _render_finished(self, done: list[Block]) -> None:
        """Render what is new of the parts above the last, unless they will be plain text."""
        known = len(self._parts)
        if done[:known] != self._parts:
            known, self._above, self._weight = 0, "", 0
        for part in done[known:]:
            self._weight += estimate_cost(part.text)
            if self._weight <= MAX_BLOCK_COST:
                self._above = merge_list_parts(
                    self._above, render_block(part, self._link, colours=False)
                )
        self._parts = done

    def _append_text(self, block: Block) -> str | None:
        """Return the last rendering with what has come since, if that can be put in as it is."""
        known = len(self._base)
        if not known or not block.text.startswith(self._base):
            return None
        if isinstance(block, ProseBlock) and _MARKUP.search(block.text, max(0, known - len("//"))):
            return None
        added = block.text[known:]
        before, after = self._html
        html = before + escape(replace_unstorable(added))
        if replace_unstorable(added) == added:  # not so when it ends with half of a character
            self._base, self._html = block.text, (html, after)
        return html + after

    def _render_fresh(self, block: Block) -> str:
        self.reset()
        if isinstance(block, CodeBlock):
            html = render_block(block, colours=False)
            self._remember(block.text, html, _CODE_ENDS.search(html))
            return html
        if isinstance(block, PlainBlock):
            html = render_block(block)
            self._remember(block.text.rstrip(), html, _ENDS.search(html))
            return html
        shown = (
            close_open_marks(block.text) if len(block.text) <= 2 * SOFT_LIMIT_CHARS else block.text
        )
        if (
            len(shown) > 2 * SOFT_LIMIT_CHARS
            or self._weight > MAX_BLOCK_COST
            or estimate_cost(shown) > MAX_OPEN_BLOCK_COST
        ):
            return render_plain("… " + block.text[_preview_start(block.text) :])
        html = render_block(ProseBlock(shown, block.more, block.number), self._link, colours=False)
        text = shown.rstrip(" ")  # as the parser does
        word, ends = _WHOLE_WORD.search(text), _ENDS.search(html)
        if word and ends and html[: ends.start()].endswith(word["word"]):
            self._remember(text, html, ends)
        return html

    def _remember(self, text: str, html: str, ends: re.Match[str] | None) -> None:
        if ends is not None:
            self._base, self._html = text, (html[: ends.start()], ends[0])


def _preview_start(text: str) -> int:
    """Return where the preview starts. It moves in steps: between them, text grows at its end."""
    return max(0, len(text) // _PREVIEW_CHARS - 1) * _PREVIEW_CHARS


def merge_list_parts(above: str, below: str) -> str:
    """Merge two parts of one list or table: a tail has no seams that the closed block has not."""
    for end, start in _SEAMS:
        if above.endswith(end) and (found := start.match(below)):
            rest = below[found.end() :]
            return above.removesuffix(end) + rest if rest else above
    return above + below
