"""The line of a text that says why it was found."""

import pytest

from agents.search.analysis import analyse
from agents.search.snippets import MAX_CHARS, NoteSnippet, build_snippet

LINES = ["# Quays", "", "Nothing here.", "The quay   needs a permit.", "## Permits", "Later."]


def weigh(words: str) -> dict[str, float]:
    return dict.fromkeys(analyse(words).split(), 1.0)


def test_the_line_with_most_of_the_words_is_shown() -> None:
    found = build_snippet(LINES, 1, 6, weigh("permits quay"))
    assert found == NoteSnippet(4, "The quay needs a permit.")


def test_of_a_heading_the_text_below_is_shown() -> None:
    assert build_snippet(LINES, 5, 6, weigh("permit")) == NoteSnippet(6, "Later.")


def test_lines_outside_are_not_looked_at() -> None:
    assert build_snippet(LINES, 1, 3, weigh("permit")) == NoteSnippet(3, "Nothing here.")


@pytest.mark.parametrize("lines", [[], [""], ["", "  "]])
def test_an_empty_text_has_an_empty_snippet(lines: list[str]) -> None:
    assert build_snippet(lines, 1, 9, weigh("permit")).text == ""


def test_a_long_line_is_cut_around_the_word() -> None:
    line = "word " * 2_000 + "permit " + "word " * 2_000
    text = build_snippet([line], 1, 1, weigh("permits")).text
    assert "permit" in text
    assert len(text) <= MAX_CHARS
    assert text.startswith("…")
    assert text.endswith("…")


def test_a_text_that_has_become_shorter_is_no_error() -> None:
    assert build_snippet(["one"], 40, 50, weigh("permit")) == NoteSnippet(1, "one")


def test_a_snippet_shows_a_word_that_was_typed_in_part() -> None:
    snippet = build_snippet(["ships", "the harbour"], 1, 2, {"harb*": 1.0})
    assert snippet.text == "the harbour"


def test_where_no_line_has_the_words_one_with_words_is_shown() -> None:
    assert build_snippet(["---", "", "Nothing."], 1, 3, weigh("quay")).text == "Nothing."
