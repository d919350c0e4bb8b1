"""What to try instead, as an address says it."""

import pytest

from agents.admin.what_if.forms import WhatIfForm
from agents.core.stuck import DEFAULT_STUCK_RULES


def test_an_empty_form_leaves_everything_as_recorded() -> None:
    form = WhatIfForm({})
    assert form.is_valid()
    assert form.is_empty
    assert (form.chosen_limits, form.tree, form.chosen_rules) == ({}, "", None)


def test_what_is_filled_in_is_tried() -> None:
    form = WhatIfForm({"token_budget": " 50,000 ", "with_tree": "default ", "known": "0"})
    assert form.is_valid()
    assert not form.is_empty
    assert form.chosen_limits == {"token_budget": 50_000}
    assert form.tree == "default"
    assert form.chosen_rules is not None
    assert form.chosen_rules.known == 0
    assert form.chosen_rules.identical == DEFAULT_STUCK_RULES.identical


@pytest.mark.parametrize(
    ("name", "typed"),
    [("max_iterations", "0"), ("max_iterations", "51"), ("max_iterations", "1.5"), ("known", "1")],
)
def test_what_is_out_of_bounds_is_refused_beside_its_field_and_stays_there(
    name: str, typed: str
) -> None:
    form = WhatIfForm({name: typed})
    assert list(form.errors) == [name]
    assert "Must be a whole number from" in str(form.errors[name])
    assert form[name].value() == typed
