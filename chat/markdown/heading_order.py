"""Renumber headings so that they skip no level: screen-reader users navigate by them."""

import re
from collections.abc import Sequence

_HEADING = re.compile(r"<(/?)h([3-6])(?=[ >])")
_LEVEL_ABOVE = 2
"""Of the page's own heading, below which the text stands."""


def order_headings(html: str, above: Sequence[int] = ()) -> tuple[str, list[int]]:
    """Return sanitised HTML with its headings in order, and the levels that what follows is below.

    `above` is the same for this one. Headings of one level stay on one level.
    """
    levels = list(above)

    def replace_level(match: "re.Match[str]") -> str:
        if not match[1]:
            level = int(match[2])
            levels[:] = [*(each for each in levels if each < level), level]
        return f"<{match[1]}h{_LEVEL_ABOVE + len(levels)}"

    return _HEADING.sub(replace_level, html) if "<h" in html else html, levels


def order_all_headings(blocks: Sequence[str]) -> list[str]:
    """Return blocks that are shown together with their headings in order."""
    levels: list[int] = []
    ordered = []
    for block in blocks:
        html, levels = order_headings(block, levels)
        ordered.append(html)
    return ordered
