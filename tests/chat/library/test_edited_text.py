"""Texts of notes through a form field."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.library.edited_text import apply_edit, make_editable

TEXTS = st.text(st.sampled_from("ab \t\ufeffé"), max_size=12) | st.lists(
    st.sampled_from(["a", "b", "", "\r", "\n", "\r\n", "\ufeff"]), max_size=12
).map("".join)


def send(text: str) -> str:
    """What a browser sends of a field that it was given: every line end is CRLF."""
    return re.sub(r"\r\n|\r|\n", "\r\n", text)


@given(TEXTS)
def test_a_text_that_nobody_changed_keeps_its_bytes(text: str) -> None:
    assert apply_edit(text, send(make_editable(text))) == text


@pytest.mark.parametrize(
    ("stored", "sent", "expected"),
    [
        ("a\nb\n", "a\r\nc\r\n", "a\nc\n"),
        ("a\r\nb\r\n", "a\r\nb\r\nc", "a\r\nb\r\nc"),
        ("\ufeffa\n", "b\r\n", "\ufeffb\n"),
        ("a\rb\nc\n", "a\r\nb\r\nd\r\n", "a\rb\nd\r"),
        ("a\n", "", ""),
        ("", "a\r\nb", "a\nb"),
    ],
)
def test_only_lines_that_differ_are_changed(stored: str, sent: str, expected: str) -> None:
    assert apply_edit(stored, sent) == expected
