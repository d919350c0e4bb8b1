"""Text that every database and socket takes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.core.text import storable

anything = st.text(st.characters(exclude_categories=()), max_size=30)


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("plain", "plain"),
        ("größer 😀", "größer 😀"),
        ("\ud83d\ude00", "😀"),
        ("a\ud800b", "a\ufffdb"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("a\x00b", "a\ufffdb"),
        ("\ufeffmark", "\ufeffmark"),
        ("\ufeff\ud800", "\ufeff\ufffd"),
    ],
    ids=ascii,
)
def test_what_cannot_be_stored_is_marked_and_the_rest_is_kept(text: str, stored: str) -> None:
    assert storable(text) == stored


@given(anything)
def test_any_text_becomes_storable_and_stays_so(text: str) -> None:
    stored = storable(text)
    assert stored.encode().decode() == stored
    assert "\x00" not in stored
    assert storable(stored) == stored


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")))
def test_storable_text_is_left_alone(text: str) -> None:
    assert storable(text) == text
