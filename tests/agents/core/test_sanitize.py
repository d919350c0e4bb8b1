"""Text that every database and socket takes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.core.sanitize import is_blank, quote_as_data, replace_unstorable

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
    assert replace_unstorable(text) == stored


@given(anything)
def test_any_text_becomes_storable_and_stays_so(text: str) -> None:
    stored = replace_unstorable(text)
    assert stored.encode().decode() == stored
    assert "\x00" not in stored
    assert replace_unstorable(stored) == stored


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")))
def test_storable_text_is_left_alone(text: str) -> None:
    assert replace_unstorable(text) == text


INVISIBLE = {
    "nothing": "",
    "white space": " \n\t\u00a0\u3000\u2028",
    "zero width": "\u200b\u200c\u200d\u2060\ufeff",
    "directions": "\u200e\u202e\u2066\u2069",
    "soft hyphens": "\u00ad\u00ad",
    "control characters": "\x01\x07\x1b\x7f\x85",
    "tags": "\U000e0001\U000e0041\U000e007f",
    "variation selectors": "\ufe0f\ufe00\U000e0100\u180b",
    "fillers": "\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4",
    "what could not be read": "\ufffd\ufffd",
}


@pytest.mark.parametrize("text", INVISIBLE.values(), ids=INVISIBLE.keys())
def test_what_nobody_can_see_is_blank(text: str) -> None:
    assert is_blank(text)
    assert is_blank(text * 3 + " ")
    assert not is_blank(text + "x")


@pytest.mark.parametrize(
    "text", ["0", ".", "ß", "日", "😀", "👩\u200d🚀", "❤\ufe0f", "\ue000", "`"]
)
def test_what_can_be_seen_is_not_blank(text: str) -> None:
    assert not is_blank(text)


@given(anything)
def test_quoted_words_are_one_line_that_cannot_be_left(text: str) -> None:
    quoted = quote_as_data(text * 20)
    assert quoted[0] == quoted[-1] == "`"
    assert len(quoted) <= 120
    assert not set(quoted[1:-1]) & set("`[]\n\r\u2028\u2029\x85")
    assert len(quoted.splitlines()) == 1
