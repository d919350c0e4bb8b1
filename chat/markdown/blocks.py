"""What an answer is cut into, and how long its parts may be."""

import re
from dataclasses import dataclass

SOFT_LIMIT_CHARS = 3_000
"""Characters of an open block before it is cut where that does little harm; the longest line."""
HARD_LIMIT_CHARS = 4 * SOFT_LIMIT_CHARS
"""Characters before any block is cut, at a line, whatever it is: no parse is larger than this."""
PART_CHARS = SOFT_LIMIT_CHARS // 5
"""Characters of a list or table that the tail renders again; what is above them is kept."""
MAX_HEAD_CHARS = SOFT_LIMIT_CHARS // 10
"""The longest head of a table that is repeated above its pieces."""


@dataclass(frozen=True, slots=True)
class ProseBlock:
    """Markdown to be parsed. `more`: it goes on from the block before it, items from `number`."""

    text: str
    more: bool = False
    number: int | None = None


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """What stands between fences, or a piece of it."""

    info: str
    text: str
    more: bool = False
    colours: bool = True


@dataclass(frozen=True, slots=True)
class PlainBlock:
    """Text that is shown as it was written."""

    text: str


Block = ProseBlock | CodeBlock | PlainBlock

_SENTENCE = re.compile(r"[.!?…][\"')»”]* +(?=[^\W\d_])|[\u3002\uff01\uff1f](?=[^\W\d_])")
_WORD = re.compile(r"(?<! ) +(?=[^\W\d_])")


def find_sentence_end(line: str) -> int:
    """Return where to cut a long line: after a sentence, else a word, and only before a letter.

    What follows must not begin a list or a heading that nobody wrote.
    """
    for pattern in (_SENTENCE, _WORD):
        ends = [
            match.end() for match in pattern.finditer(line, SOFT_LIMIT_CHARS // 2, SOFT_LIMIT_CHARS)
        ]
        if ends:
            return ends[-1]
    return SOFT_LIMIT_CHARS


def find_line_end(text: str) -> int:
    """Return where to cut plain text that is longer than SOFT_LIMIT_CHARS."""
    return text.rfind("\n", SOFT_LIMIT_CHARS // 2, SOFT_LIMIT_CHARS) + 1 or SOFT_LIMIT_CHARS


def find_code_break(lines: list[str]) -> int:
    """Return how many lines of code to close: up to an empty one in the second half, if any."""
    for count in range(len(lines), len(lines) // 2, -1):
        if not lines[count - 1].strip():
            return count
    return len(lines)
