"""Where the headings of a text are. How a text is cut at them is in tests/agents/search."""

import pytest

from agents.core.headings import Heading, find_headings


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        ("# Tides #", Heading(1, "Tides", 1, 1)),
        ("Tides\n-----", Heading(2, "Tides", 1, 2)),
        ("=====\nTides\n=====", Heading(-4, "Tides", 1, 3)),
        ("``TIDES`` setting\n~~~~~~~~~~~~~~~~~", Heading(3, "``TIDES`` setting", 1, 2)),
    ],
)
def test_headings_are_those_of_markdown_and_underlined_ones(text: str, heading: Heading) -> None:
    assert find_headings(text.split("\n"), 10) == [heading]


@pytest.mark.parametrize(
    "text", ["---\n# a: b\n---", "```\n# x\n```", "```\n---", "> ```\n> # x", "| a\n----"]
)
def test_in_frontmatter_and_code_and_below_tables_there_are_none(text: str) -> None:
    assert find_headings(text.split("\n"), 10) == []


def test_no_more_are_read_than_are_wanted() -> None:
    assert [heading.line for heading in find_headings(["# a"] * 9, 2)] == [1, 2]
