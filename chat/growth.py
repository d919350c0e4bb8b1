"""HTML that has only grown by text at its end: then the text is all that a page must be sent."""

from html import unescape
from typing import NamedTuple


class Growth(NamedTuple):
    """`text` comes after a text of `length` UTF-16 units, as a browser counts them.

    The page finds the place by itself: the last text of the last element, and so on inwards.
    """

    length: int
    text: str


def growth(old: str, new: str) -> Growth | None:
    """The text by which `old` has become `new`, inside the same elements; None if it is otherwise.

    There must be a text already where it goes, and not only white space.
    """
    cut = _end_of_text(old)
    ending = len(old) - cut
    if not (len(new) > len(old) and new.startswith(old[:cut]) and new.endswith(old[cut:])):
        return None
    added = new[cut : len(new) - ending]
    last_text = old[old.rfind(">", 0, cut) + 1 : cut]
    if not last_text.strip() or "<" in added:
        return None
    length = len(unescape(last_text).encode("utf-16-le")) // 2
    return Growth(length, unescape(added))


def _end_of_text(html: str) -> int:
    """Where the closing tags at the end begin."""
    end = len(html)
    while True:
        before = html[:end].rstrip()
        if not before.endswith(">"):
            return end
        start = before.rfind("<")
        if not before.startswith("</", start):
            return end
        end = start
