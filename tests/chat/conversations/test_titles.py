"""Titles from questions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.conversations.titles import DEFAULT_TITLE, MAX_TITLE_LENGTH, make_title, truncate_at_word


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("How high is the tide?", "How high is the tide?"),
        ("How high is it? And when?", "How high is it?"),
        ("How high is it\nin the harbour?", "How high is it"),
        ("Hi! How high is it?", "Hi! How high is it?"),
        ("Please ask Dr. Smith about it all. Then go.", "Please ask Dr. Smith about it all."),
        ("# The **tide** of `low_water_mark`", "The tide of low_water_mark"),
        ("> quoted\n\nWhat now?", "quoted"),
        ("- [ ] see [the log](https://log.example/x)", "[ ] see the log"),
        ("![chart](x.png) What is this?", "chart What is this?"),
        ("```py\nprint(1)\n```\nWhat does it do?", "print(1)"),
        ("---\n\nWhat now?", "What now?"),
        ("snake_case_name and 2 * 3", "snake_case_name and 2 * 3"),
        ("<b>bold</b> &amp; more", "<b>bold</b> & more"),
        ("\u202egnp.exe \x07 tide", "gnp.exe tide"),
        ("\U0001f9d1\u200d\U0001f680 up?", "\U0001f9d1\u200d\U0001f680 up?"),
        ("潮位はいくつですか。教えて。", "潮位はいくつですか。"),
        ("?!", "?!"),
        ("", DEFAULT_TITLE),
        (" \n\t", DEFAULT_TITLE),
        ("\u200b\u2060", DEFAULT_TITLE),
        ("\u200d", DEFAULT_TITLE),
    ],
)
def test_a_title_is_the_first_sentence_in_plain_words(question: str, title: str) -> None:
    assert make_title(question) == title


def test_a_long_title_is_cut_at_the_end_of_a_word() -> None:
    title = make_title(
        "How high is the tide in the harbour of Cuxhaven on a stormy night in autumn"
    )
    assert title == "How high is the tide in the harbour of Cuxhaven on a stormy\u2026"
    assert len(title) == MAX_TITLE_LENGTH


def test_a_long_word_is_cut_anyway() -> None:
    assert truncate_at_word("x" * 100) == "x" * (MAX_TITLE_LENGTH - 1) + "\u2026"
    assert truncate_at_word("See " + "x" * 100) == "See " + "x" * (MAX_TITLE_LENGTH - 5) + "\u2026"


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300))
def test_a_title_is_short_and_on_one_line_and_never_empty(question: str) -> None:
    title = make_title(question)
    assert 0 < len(title) <= MAX_TITLE_LENGTH
    assert title == title.strip()
    assert len(title.splitlines()) == 1
    assert any(char.isprintable() and not char.isspace() for char in title)
