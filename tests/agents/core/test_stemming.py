"""Light stems for English and German."""

import pytest

from agents.core.stemming import stem


@pytest.mark.parametrize(
    "words",
    [
        ("release", "releases", "released", "releasing"),
        ("plan", "plans", "planned", "planning"),
        ("supply", "supplies", "supplied", "supplier"),
        ("battery", "batteries"),
        ("lieferung", "lieferungen", "liefern"),
        ("harbour", "harbours", "harbour's"),
    ],
)
def test_forms_of_a_word_have_one_stem(words: tuple[str, ...]) -> None:
    assert len({stem(word) for word in words}) == 1
