"""What an answer may cost to render, counted in its marks and lines: never in time.

A budget that is counted is the same on every machine, live and on reload. The weights are in
proportion to what each costs the parser at its worst, so that nothing costs much more than another
thing of its weight; `tests/chat/markdown/test_budget.py` has the shapes that they were measured on.
"""

import re

from chat.markdown.blocks import Block, CodeBlock, PlainBlock, ProseBlock

MAX_ANSWER_COST = 75_000
"""After this the rest of an answer is plain text. About 100,000 characters with headings, lists,
emphasis and code in every paragraph; of prose, millions."""
MAX_BLOCK_COST = 18_000
"""A block that weighs more is plain text: 1,500 stars or 500 brackets in one paragraph."""
MAX_OPEN_BLOCK_COST = 8_000
"""So is an open block, which is parsed again for every frame."""
MAX_HIGHLIGHT_COST = MAX_ANSWER_COST // 2
"""Code is coloured until so much is spent."""

LINE_COST = 3
"""Of splitting; a line weighs more in the block that has it."""
_PLAIN_BLOCK_COST = 4_000
"""Of a block that is plain text: it cost something while it was open, frame by frame."""
_BLOCK_COST = 25
_CODE_COST = 15
_LEXER_COST = 60
_MARK_COSTS = {
    "\n": 13, "[": 35, "![": 15, "*": 12, "_": 12, "|": 28, "`": 6, "<": 35, ">": 15, "://": 30,
    "~": 6, "&": 8, "\\": 4, "]": 2, "(": 2, "!": 2,
}  # fmt: skip
_ITEM = re.compile(r"^[ \t>]*(?:[-+*]|\d{1,9}[.)])(?:[ \t]|$)", re.MULTILINE)
_ITEM_COST = 45


def estimate_cost(text: str) -> int:
    """Return what it takes to parse a block of Markdown."""
    marks = sum(text.count(mark) * weight for mark, weight in _MARK_COSTS.items())
    items = len(_ITEM.findall(text)) * _ITEM_COST if "\n" in text else 0
    return _BLOCK_COST + marks + items


class RenderBudget:
    """What has been spent on one answer, however many parts its text is in."""

    def __init__(self) -> None:
        self.spent = 0

    def is_exhausted(self) -> bool:
        return self.spent > MAX_ANSWER_COST

    def charge_line(self) -> None:
        self.spent += LINE_COST

    def charge_block(self, block: Block) -> Block:
        """Pay for a closed block; what costs too much comes back as plain text or plain code."""
        match block:
            case ProseBlock(text=text):
                weight = estimate_cost(text)
                if weight > MAX_BLOCK_COST:
                    self.spent += _PLAIN_BLOCK_COST
                    return PlainBlock(text)
                self.spent += weight
            case CodeBlock():
                return self._charge_code(block)
        return block

    def _charge_code(self, code: CodeBlock) -> CodeBlock:
        self.spent += _CODE_COST
        weight = _LEXER_COST + 5 * len(code.text) // 2
        if not code.info or self.spent + weight > MAX_HIGHLIGHT_COST:
            return CodeBlock(code.info, code.text, code.more, colours=False)
        self.spent += weight
        return code
