"""What the part of a link after the # means."""

import pytest

from agents.vault.fragments import find_fragment
from agents.vault.parsing import parse_note
from tests.support.line_counts import count_lines

TEXT = """---
a: b
---
# Plan
Words.
## Goals: first
One.

Two
lines. ^two

- item ^item
## Next
### Goals: first
Deep.

A table.

^table
# End
"""


@pytest.mark.parametrize(
    ("fragment", "expected"),
    [
        ("Plan", (4, 19)),
        ("goals first", (6, 12)),
        ("Next#Goals first", (14, 19)),
        ("Plan#Next#Goals: first", (14, 19)),
        ("End#Goals first", None),
        ("End", (20, 20)),
        ("Nothing", None),
        ("", None),
        ("^two", (9, 10)),
        ("^ITEM", (12, 12)),
        ("^table", (17, 19)),
        ("^none", None),
    ],
)
def test_a_fragment_means(fragment: str, expected: tuple[int, int] | None) -> None:
    found = find_fragment(TEXT.splitlines(), parse_note("a.md", TEXT), fragment)
    assert (found and (found.first, found.last)) == expected


def test_twice_the_headings_are_about_twice_the_work() -> None:
    def measure(count: int) -> int:
        text = "".join(f"{'#' * (1 + number % 6)} h\n" for number in range(count))
        lines, parsed = text.splitlines(), parse_note("a.md", text)
        return count_lines(lambda: find_fragment(lines, parsed, "h#nothing#h"))

    assert measure(800) < 3 * measure(400)
