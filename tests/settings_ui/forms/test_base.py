"""How a number is read, and how a slider moves."""

import pytest

from agents.core.config import LIMITS
from settings_ui.forms.agent import AGENT_FIELDS, APPEARANCE_FIELDS
from settings_ui.forms.base import NumberSetting, SettingForm


def number(name: str) -> NumberSetting:
    found = AGENT_FIELDS[name]
    assert isinstance(found, NumberSetting)
    return found


@pytest.mark.parametrize(
    ("typed", "value"),
    [("12", 12), (" 12 ", 12), ("+12", 12), ("0012", 12), ("-3", -3), ("50,000", 50_000)],
)
def test_a_whole_number_is_read_as_people_write_it(typed: str, value: int) -> None:
    assert number("token_budget").parse(typed) == value


@pytest.mark.parametrize("typed", ["", "1.5", "1e3", "1,2", "5,0000", "1_0", "١٢", "0x1", "1" * 13])
def test_what_is_no_plain_number_is_not_guessed(typed: str) -> None:
    assert number("token_budget").parse(typed) is None


@pytest.mark.parametrize("name", LIMITS)
def test_a_slider_meets_both_ends_and_the_default(name: str) -> None:
    field = number(name)
    assert (field.maximum - field.minimum) % field.step == 0
    assert (field.default - field.minimum) % field.step == 0


def test_a_slider_of_many_values_moves_in_round_steps() -> None:
    assert {name: number(name).step for name in LIMITS if number(name).step > 1} == {
        "token_budget": 1_000,
        "timeout_seconds": 5,
    }


def test_a_form_shows_what_was_typed_only_if_it_was_refused() -> None:
    field = AGENT_FIELDS["max_iterations"]
    assert SettingForm(field, 15).input_value == "15"
    refused = SettingForm(field, data={"value": "much", "seen": "15"})
    assert refused.input_value == "much"


def test_a_theme_is_said_in_words() -> None:
    assert APPEARANCE_FIELDS["theme"].display("") == "As the system"
