"""The open block, shown again with every frame, so cheap for what most frames add."""

import re

from agents.core.text import storable
from chat.markdown.blocks import LIMIT, Block, Code, Prose
from chat.markdown.code import escape
from chat.markdown.mending import mended
from chat.markdown.rendering import block_html, plain
from chat.markdown.rules import Link

_SHOWN = LIMIT // 2
"""Of a block that cannot be cut and is longer than twice `LIMIT`, only so much of its end, or up
to twice as much."""
_DEAR = re.compile(r"[\[|]")
_DEAREST = 400
"""Of a block with more links or cells than anybody writes, too: they take most time to parse."""
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


class Tail:
    """Remembers what it rendered: the finished parts of a list or table, and of the last part
    enough to put words in where they belong, so that most frames need no parser."""

    def __init__(self, link: Link | None) -> None:
        self._link = link
        self._parts: list[Block] = []  # those above the last, which stay as they are
        self._above = ""
        self.forget()

    def forget(self) -> None:
        """The block that was open is closed."""
        self._base = ""  # text that was rendered, if what follows can be put in
        self._html = ("", "")  # before and after the place for it

    def html(self, parts: list[Block]) -> str:
        if not parts:
            return ""
        *done, last = parts
        self._keep(done)
        added = self._added(last)
        return joined(self._above, self._fresh(last) if added is None else added)

    def _keep(self, done: list[Block]) -> None:
        known = len(self._parts)
        if done[:known] != self._parts:
            known, self._above = 0, ""
        for part in done[known:]:
            self._above = joined(self._above, block_html(part, self._link, colours=False))
        self._parts = done

    def _added(self, block: Block) -> str | None:
        """The last rendering with what has come since, if that can be put in as it is."""
        known = len(self._base)
        if not known or not block.text.startswith(self._base):
            return None
        if isinstance(block, Prose) and _MARKUP.search(block.text, max(0, known - len("//"))):
            return None
        added = block.text[known:]
        before, after = self._html
        html = before + escape(storable(added))
        if storable(added) == added:  # not so when it ends with half of a character
            self._base, self._html = block.text, (html, after)
        return html + after

    def _fresh(self, block: Block) -> str:
        self.forget()
        if isinstance(block, Code):
            html = block_html(block, colours=False)
            self._remember(block.text, html, _CODE_ENDS.search(html))
            return html
        if len(block.text) > 2 * LIMIT or len(_DEAR.findall(block.text)) > _DEAREST:
            return plain("… " + block.text[_first_shown(block.text) :])
        shown = mended(block.text)
        html = block_html(Prose(shown, block.more, block.number), self._link, colours=False)
        text = shown.rstrip(" ")  # as the parser does
        word, ends = _WHOLE_WORD.search(text), _ENDS.search(html)
        if word and ends and html[: ends.start()].endswith(word["word"]):
            self._remember(text, html, ends)
        return html

    def _remember(self, text: str, html: str, ends: re.Match[str] | None) -> None:
        if ends is not None:
            self._base, self._html = text, (html[: ends.start()], ends[0])


def _first_shown(text: str) -> int:
    """Moves in steps: between them, what is shown only grows at its end."""
    return max(0, len(text) // _SHOWN - 1) * _SHOWN


def joined(above: str, below: str) -> str:
    """Two parts of one list or table as one: a tail has no seams that the closed block has not."""
    for end, start in _SEAMS:
        if above.endswith(end) and (found := start.match(below)):
            rest = below[found.end() :]
            return above.removesuffix(end) + rest if rest else above
    return above + below
