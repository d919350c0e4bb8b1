"""A text cut at its headings."""

from itertools import pairwise

import pytest

from agents.search import sections
from agents.search.sections import Section, split_lines, split_sections


def list_paths(text: str) -> list[tuple[str, ...]]:
    return [section.heading_path for section in split_sections(text)]


def test_sections_carry_their_headings_and_lines() -> None:
    text = "before\n\n# One\nfirst\n## Two ##\nsecond\n# Three\n"
    assert split_sections(text) == [
        Section((), 1, 2, "before\n"),
        Section(("One",), 3, 4, "# One\nfirst"),
        Section(("One", "Two"), 5, 6, "## Two ##\nsecond"),
        Section(("Three",), 7, 7, "# Three"),
    ]


def test_a_heading_with_only_a_lower_one_below_is_part_of_its_section() -> None:
    assert split_sections("# One\n\n## Two\ntext\n# Three\n# Four") == [
        Section(("One", "Two"), 1, 4, "# One\n\n## Two\ntext"),
        Section(("Three",), 5, 5, "# Three"),
        Section(("Four",), 6, 6, "# Four"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "```\n# no heading\n```",
        "~~~ text\n# no heading\n```\n# none\n~~~",
        "````\n```\n# no heading\n````",
        "> ```\n> # no heading\n> ```",
        "- list\n  ```\n  # no heading\n  ```",
        "```\n# never closed",
        "---\n# a comment of frontmatter\ntitle: x\n---\ntext",
        "---\ntitle: x\n# a comment\n...\ntext",
        "#tag and #123",
        "| a | b |\n---|---\n",
        "a paragraph that is long\nof two lines\n---\n",
    ],
)
def test_what_only_looks_like_a_heading_is_none(text: str) -> None:
    assert list_paths(text) == [()]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("\ufeff# After a mark", ("After a mark",)),
        ("# With CRLF\r\ntext\r\n", ("With CRLF",)),
        ("---\nno frontmatter\n\n# Here\n", ("Here",)),
        ("> ```\n> quote ends the code\n\n# Here", ("Here",)),
        ("Title\n=====\ntext", ("Title",)),
        ("=====\nTitle\n=====\n\nPart\n====\n", ("Title", "Part")),
        ("Part\n----\n\nBelow\n~~~~~\n", ("Part", "Below")),
    ],
)
def test_headings_are_found(text: str, path: tuple[str, ...]) -> None:
    assert list_paths(text)[-1] == path


def test_lines_are_counted_as_editors_count_them() -> None:
    assert split_lines("a\r\nb\rc\u2028d\x0ce\n") == ["a", "b", "c\u2028d\x0ce"]


def test_a_long_section_is_cut_between_paragraphs() -> None:
    paragraph = "word " * 400 + "\n\n"
    found = split_sections("# Long\n" + paragraph * 10)
    assert len(found) > 2
    assert {section.heading_path for section in found} == {("Long",)}
    assert all(len(section.text) <= sections.MAX_SECTION_CHARS for section in found)
    lines = [(section.first_line, section.last_line) for section in found]
    assert all(end + 1 == start for (_, end), (start, _) in pairwise(lines))


def test_a_text_of_nothing_but_headings_has_bounded_sections() -> None:
    assert len(split_sections("# a\n" * 50_000)) < sections.MAX_HEADINGS + 50


@pytest.mark.parametrize("text", ["", "\n\n", "   "])
def test_an_empty_text_has_no_sections(text: str) -> None:
    assert split_sections(text) == []
