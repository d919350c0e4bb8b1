"""The text of a note in a form field, and back: what nobody changed keeps its bytes.

Browsers turn every line end into one kind, and people do not see a byte order mark.
"""

import re

from agents.core.frontmatter import BYTE_ORDER_MARK
from agents.vault.diffs import compare_lines
from agents.vault.merge import adopt_line_ends

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$")


def make_editable(text: str) -> str:
    """Return the text of a note for a form field."""
    return text.removeprefix(BYTE_ORDER_MARK)


def apply_edit(stored: str, submitted: str) -> str:
    """Return the stored text with the lines that differ in what a form sent."""
    mark = BYTE_ORDER_MARK if stored.startswith(BYTE_ORDER_MARK) else ""
    old = _LINE.findall(stored.removeprefix(mark))
    new = _LINE.findall(adopt_line_ends(submitted, stored))
    blocks = compare_lines([_end_plainly(line) for line in old], [_end_plainly(x) for x in new])
    pieces, place = [mark], 0
    for start, end, new_start, new_end in blocks:
        pieces += [*old[place:start], *new[new_start:new_end]]
        place = end
    return "".join([*pieces, *old[place:]])


def _end_plainly(line: str) -> str:
    content = line.rstrip("\r\n")
    return content + "\n" if content != line else line
