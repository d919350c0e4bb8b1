"""Whole numbers, as people write them."""

import pytest
from django.core.exceptions import ValidationError

from agents.web.form_fields import WholeNumberField


@pytest.mark.parametrize(
    ("typed", "value"),
    [("12", 12), (" 12 ", 12), ("+12", 12), ("0", 0), ("-3", -3), ("50,000", 50_000), ("", None)],
)
def test_a_whole_number_is_read_as_people_write_it(typed: str, value: int | None) -> None:
    assert WholeNumberField(required=False).clean(typed) == value


@pytest.mark.parametrize("typed", ["1.5", "1e3", "1,2", "5,0000", "1_0", "١٢", "0x1", "1" * 13])
def test_what_is_no_plain_number_is_not_guessed(typed: str) -> None:
    with pytest.raises(ValidationError):
        WholeNumberField().clean(typed)
