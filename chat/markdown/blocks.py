"""What an answer is cut into, and how long its parts may be."""

import re
from dataclasses import dataclass

LIMIT = 3_000
"""Characters of an open block before it is cut where that does little harm; the longest line."""
MOST = 4 * LIMIT
"""Characters before any block is cut, at a line, whatever it is: no parse is larger than this."""
PART = LIMIT // 5
"""Characters of a list or table that the tail renders anew; what is above them is kept."""
HEAD = LIMIT // 10
"""The longest head of a table that is repeated above its pieces."""


@dataclass(frozen=True, slots=True)
class Prose:
    """Markdown to be parsed. `more`: it goes on from the block before it, items from `number`."""

    text: str
    more: bool = False
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Code:
    """What stands between fences, or a piece of it."""

    info: str
    text: str
    more: bool = False


Block = Prose | Code

_SENTENCE = re.compile(r"[.!?…][\"')»”]* +(?=[^\W\d_])|[\u3002\uff01\uff1f](?=[^\W\d_])")
_WORD = re.compile(r" +(?=[^\W\d_])")


def sentence_end(line: str) -> int:
    """Where to cut a long line: after a sentence, else a word, and only before a letter.

    What follows must not begin a list or a heading that nobody wrote.
    """
    for pattern in (_SENTENCE, _WORD):
        ends = [match.end() for match in pattern.finditer(line, LIMIT // 2, LIMIT)]
        if ends:
            return ends[-1]
    return LIMIT


def code_break(lines: list[str]) -> int:
    """How many lines of code to close: up to an empty line, if there is one in the second half."""
    for count in range(len(lines), len(lines) // 2, -1):
        if not lines[count - 1].strip():
            return count
    return len(lines)
