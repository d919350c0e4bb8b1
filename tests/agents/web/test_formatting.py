"""Values as text."""

from datetime import datetime, timedelta, timezone

import pytest

from agents.web.formatting import dump_json, format_count, format_timestamp


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 runs"), (1, "1 run"), (2, "2 runs"), (1_000, "1,000 runs")]
)
def test_a_noun_follows_its_number(number: int, text: str) -> None:
    assert format_count(number, "run") == text


def test_a_moment_is_written_in_utc_to_the_millisecond() -> None:
    moment = datetime(2026, 3, 1, 1, 2, 3, 456_789, timezone(timedelta(hours=2)))
    assert format_timestamp(moment) == "2026-02-28T23:02:03.456+00:00"
    assert format_timestamp(None) is None


def test_letters_stay_as_they_are_in_json() -> None:
    assert dump_json({"a": "Brücke"}) == '{"a": "Brücke"}'
