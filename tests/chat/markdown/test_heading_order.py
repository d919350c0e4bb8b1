"""Headings whose levels follow one another, live and in what is stored."""

import re

import pytest

from chat.markdown import MarkdownStream, render
from chat.markdown.heading_order import order_headings


def levels(text: str) -> list[int]:
    return [int(level) for level in re.findall(r"<h(\d)", "".join(render(text)))]


@pytest.mark.parametrize(
    ("marks", "expected"),
    [
        ("1 2 3 4 5 6", [3, 3, 4, 5, 6, 6]),
        ("4 2 6 6 4 3", [3, 3, 4, 4, 4, 4]),
        ("6", [3]),
        ("1 5 5 1 4", [3, 4, 4, 3, 4]),
    ],
)
def test_no_level_is_skipped_and_equals_stay_equal(marks: str, expected: list[int]) -> None:
    text = "\n\ntext\n\n".join("#" * int(mark) + " a" for mark in marks.split())
    assert levels(text) == expected


def test_headings_within_lists_and_quotes_are_ordered_too() -> None:
    assert levels("- a\n\n  #### b\n\n> ###### c\n\n## d") == [3, 4, 3]


def test_the_open_block_has_the_level_that_it_will_have_when_it_is_closed() -> None:
    stream = MarkdownStream()
    stream.feed("## a\n\n##### b")
    assert stream.render_open_block() == "<h4>b</h4>\n"
    assert stream.render_open_block() == "<h4>b</h4>\n"
    assert stream.flush() == ["<h4>b</h4>\n"]


def test_only_headings_are_touched() -> None:
    html = '<hr>\n<h5 id="h-a">&lt;h6&gt;</h5>\n'
    assert order_headings(html, [3]) == ('<hr>\n<h4 id="h-a">&lt;h6&gt;</h4>\n', [3, 5])
