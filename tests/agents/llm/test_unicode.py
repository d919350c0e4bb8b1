from hypothesis import given
from hypothesis import strategies as st

from agents.core.sanitize import replace_unstorable

from .wire import repeatable


@repeatable
@given(st.text(st.characters()))
def test_whatever_comes_out_can_be_stored(text: str) -> None:
    assert "\x00" not in replace_unstorable(text)
    replace_unstorable(text).encode()


@repeatable
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")))
def test_good_text_is_left_alone(text: str) -> None:
    assert replace_unstorable(text) == text


def test_halves_of_a_character_are_joined() -> None:
    assert replace_unstorable("\ud83e\udd89") == "🦉"
