"""From where on a meter warns."""

import pytest

from agents.web.limit_levels import limit_css_class


@pytest.mark.parametrize(
    ("percent", "css_class"),
    [(0, ""), (69, ""), (70, "amber"), (89, "amber"), (90, "high"), (180, "high")],
)
def test_a_meter_is_neutral_then_amber_then_red(percent: int, css_class: str) -> None:
    assert limit_css_class(percent) == css_class
