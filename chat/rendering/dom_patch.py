"""HTML that has grown at its end: then a page is sent what is new, and where it goes.

Most frames of an open block add text after its last text. Others add an element or two: a row, an
item, emphasis. Everything above stays as it is, so that the bytes of an answer grow with its
length, however long its lists and tables are.
"""

import re
from html import unescape
from typing import NamedTuple

_TAG = re.compile(r"""<(/?)([a-z][a-z0-9]*)(?:[^>"]|"[^"]*")*>""")
_VOID = frozenset({"br", "hr"})


class TextAppend(NamedTuple):
    """`text` comes after a text of `length` UTF-16 units, as a browser counts them.

    The page finds the place by itself: the last text of the last element, and so on inwards.
    """

    length: int
    text: str

    def __str__(self) -> str:
        return f"+{self.length} {self.text}"


class DomPatch(NamedTuple):
    """`html` replaces what comes after the first `keep` elements in one of the last elements:
    `depth` times the last child of the last child.
    """

    depth: int
    keep: int
    html: str

    def __str__(self) -> str:
        return f"+{self.depth}.{self.keep} {self.html}"


def find_appended_text(old: str, new: str) -> TextAppend | None:
    """Return the text by which `old` has become `new`, inside the same elements; else None.

    There must be a text already where it goes, and not only white space.
    """
    cut = _find_text_end(old)
    ending = len(old) - cut
    if not (len(new) > len(old) and new.startswith(old[:cut]) and new.endswith(old[cut:])):
        return None
    added = new[cut : len(new) - ending]
    last_text = old[old.rfind(">", 0, cut) + 1 : cut]
    if not last_text.strip() or "<" in added:
        return None
    length = len(unescape(last_text).encode("utf-16-le")) // 2
    return TextAppend(length, unescape(added))


def _find_text_end(html: str) -> int:
    """Return where the closing tags at the end begin."""
    end = len(html)
    while True:
        last = end
        while last and html[last - 1].isspace():
            last -= 1
        if not last or html[last - 1] != ">":
            return end
        start = html.rfind("<", 0, last)
        if not html.startswith("</", start):
            return end
        end = start


class _OpenElement(NamedTuple):
    """An element that is open at some place in HTML, or the whole of it."""

    elements: int
    """How many have ended inside it."""
    content_end: int
    """Where the last of them ended, or where its inside begins."""


def build_patch(old: str, new: str) -> DomPatch:
    """Return how `old` becomes `new`: as deep inside as it can be, at worst all of it."""
    cut = _common_prefix_length(old, new)
    opened = _open_elements_at(new, cut)
    depth = min(_min_open_depth(html, cut, len(opened) - 1) for html in (old, new))
    while depth and _closing_tags(old, depth) != _closing_tags(new, depth):
        depth -= 1
    inside = opened[depth]
    end = len(new) - len(_closing_tags(new, depth))
    return DomPatch(depth, inside.elements, new[inside.content_end : end])


def _common_prefix_length(old: str, new: str) -> int:
    """Return how many characters at the beginning are the same, up to the edge of a tag."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if new.startswith(old[low:middle], low):
            low = middle
        else:
            high = middle - 1
    start = new.rfind("<", 0, low)
    return start if start > new.rfind(">", 0, low) else low


def _open_elements_at(html: str, cut: int) -> list[_OpenElement]:
    """Return what is open at a place, from the outside in."""
    opened = [_OpenElement(0, 0)]
    for tag in _TAG.finditer(html, 0, cut):
        if tag[1]:
            opened.pop()
        elif tag[2] not in _VOID:
            opened.append(_OpenElement(0, tag.end()))
            continue
        opened[-1] = _OpenElement(opened[-1].elements + 1, tag.end())
    return opened


def _min_open_depth(html: str, cut: int, depth: int) -> int:
    """Return how many of the elements that are open at a place are open up to the closing tags."""
    lowest = depth
    for tag in _TAG.finditer(html, cut, _find_text_end(html)):
        if tag[1]:
            depth -= 1
        elif tag[2] not in _VOID:
            depth += 1
        lowest = min(lowest, depth)
    return lowest


def _closing_tags(html: str, depth: int) -> str:
    """Return the last closing tags, of so many elements."""
    end = len(html)
    for _ in range(depth):
        end = html.rindex("</", 0, end)
    return html[end:]
