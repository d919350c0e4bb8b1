"""A limit is everywhere a limit has to be, or a test says where it is missing."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db.models import CheckConstraint

from agents.core.config import LIMITS, AgentConfig
from agents.models import UserAgentConfig
from settings_ui.forms.agent import AGENT_FIELDS
from tests.settings_ui.input_cases import browser
from tests.support.pages import Page

ROOT = Path(__file__).resolve().parent.parent.parent


def row() -> set[str]:
    return {column.name for column in UserAgentConfig._meta.concrete_fields}


def check_constraint() -> set[str]:
    """The limits that a constraint of the database has, with their own bounds."""
    held = [c for c in UserAgentConfig._meta.constraints if isinstance(c, CheckConstraint)]
    conditions = {str(constraint.condition) for constraint in held}
    return {
        name
        for name, limit in LIMITS.items()
        if any(
            f"'{name}__gte', {limit.minimum})" in c and f"'{name}__lte', {limit.maximum})" in c
            for c in conditions
        )
    }


def form() -> set[str]:
    return set(AGENT_FIELDS)


def page() -> set[str]:
    """Those with a slider and a number, which say bounds, default and help."""
    user, _ = User.objects.get_or_create(username="ada")
    shown = Page(browser(user).get("/settings/", secure=True).content.decode())
    inputs = {at.get("id", ""): at for at in shown.all("input")}
    text = shown.text()
    return {
        name
        for name, limit in LIMITS.items()
        if name in inputs
        and inputs.get(f"{name}-slider", {}).get("min") == str(limit.minimum)
        and inputs[f"{name}-slider"].get("max") == str(limit.maximum)
        and f"{limit.help} From {limit.minimum:,} to {limit.maximum:,}; default {limit.default:,}."
        in text
    }


def docs() -> set[str]:
    """Those with a row that has default and bounds."""
    told = (ROOT / "docs" / "limits.md").read_text()
    return {
        name
        for name, limit in LIMITS.items()
        if f"| `{name}` | {limit.default:,} | {limit.minimum:,} | {limit.maximum:,} |" in told
    }


PLACES: dict[str, Callable[[], set[str]]] = {
    "the row (agents/models/settings.py)": row,
    "a check constraint (agents/models/settings.py)": check_constraint,
    "the form (settings_ui/forms/agent.py)": form,
    "the page (templates/settings/partials/_field.html)": page,
    "the documentation (docs/limits.md)": docs,
}
"""Where every field of AgentConfig has to be; for API and OpenAPI see tests/chat/api."""


def missing(fields: Iterable[str], places: Mapping[str, Callable[[], set[str]]]) -> list[str]:
    return [
        f"{field} is missing in {place}"
        for place, names in places.items()
        for field in fields
        if field not in names()
    ]


@pytest.mark.django_db
@pytest.mark.parametrize("place", PLACES)
def test_every_limit_is_in_every_place(place: str) -> None:
    assert missing(AgentConfig.model_fields, {place: PLACES[place]}) == []


@pytest.mark.django_db
def test_a_limit_that_is_missing_is_named_with_the_place() -> None:
    found = missing(["max_iterations", "max_dreams"], PLACES)
    assert found == [f"max_dreams is missing in {place}" for place in PLACES]
