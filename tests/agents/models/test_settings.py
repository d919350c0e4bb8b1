"""What a user has set: defaults on first access, and bounds that nothing can get around."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import IntegrityError, connection, transaction
from django.db.models import Field
from django.db.models.expressions import RawSQL

from agents.core.config import LIMITS, AgentConfig, AgentConfigBounds
from agents.models import ModelSettings, UserAgentConfig
from agents.models.settings import UserSettings
from agents.settings_service import update_limits
from tests.agents.models.factories import ada

pytestmark = pytest.mark.django_db
each_limit = pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS)


def test_whoever_has_set_nothing_has_the_defaults() -> None:
    user = ada()
    assert UserAgentConfig.for_user(user).to_config() == AgentConfig()
    assert ModelSettings.for_user(user).librarian_timeout == 1_200
    assert ModelSettings.for_user(user).max_context_nodes == 30


def test_there_is_one_row_however_often_it_is_asked_for() -> None:
    user = ada()
    assert UserAgentConfig.for_user(user) == UserAgentConfig.for_user(user)
    assert UserAgentConfig.objects.count() == 1


def test_what_is_set_is_what_the_loop_gets() -> None:
    row = UserAgentConfig.for_user(ada())
    row.max_iterations, row.token_budget = 7, 9_000
    row.save()
    config = UserAgentConfig.objects.get().to_config()
    assert config == AgentConfig(max_iterations=7, token_budget=9_000)


@each_limit
def test_the_row_has_every_limit_as_it_is_defined(limit: AgentConfigBounds) -> None:
    field = UserAgentConfig._meta.get_field(limit.name)
    assert isinstance(field, Field)
    assert field.default == limit.default
    assert field.help_text == limit.help
    assert field.verbose_name == limit.label
    held = {type(v): v.limit_value for v in field.validators if hasattr(v, "limit_value")}
    assert held[MinValueValidator] == limit.minimum
    assert held[MaxValueValidator] == limit.maximum


@each_limit
def test_a_form_refuses_what_is_out_of_bounds(limit: AgentConfigBounds) -> None:
    row = UserAgentConfig.for_user(ada())
    for value in (limit.minimum, limit.maximum):
        setattr(row, limit.name, value)
        row.full_clean()
    for value in (limit.minimum - 1, limit.maximum + 1):
        setattr(row, limit.name, value)
        with pytest.raises(ValidationError) as refused:
            row.full_clean()
        assert limit.name in refused.value.message_dict


@each_limit
def test_the_database_refuses_it_too(limit: AgentConfigBounds) -> None:
    row = UserAgentConfig.for_user(ada())
    for value in (limit.minimum - 1, limit.maximum + 1):
        with pytest.raises(IntegrityError), transaction.atomic():
            UserAgentConfig.objects.filter(pk=row.pk).update(**{limit.name: value})


def test_the_tree_of_a_run_that_names_none_is_the_users_or_the_sites(settings: Any) -> None:
    settings.ORACLE_DEFAULT_TREE = "quick"
    row = UserAgentConfig.for_user(ada())
    assert row.tree == "quick"
    row.default_tree = "default"
    row.full_clean()
    assert row.tree == "default"


def test_an_unknown_tree_is_refused_with_the_known_names() -> None:
    row = UserAgentConfig.for_user(ada())
    row.default_tree = "no mode"
    with pytest.raises(ValidationError, match="Known: default"):
        row.full_clean()


@pytest.mark.parametrize(
    ("name", "value"),
    [("librarian_timeout", 59), ("librarian_timeout", 3_601), ("max_context_nodes", 4)],
)
def test_model_settings_have_bounds_as_well(name: str, value: int) -> None:
    row = ModelSettings.for_user(ada())
    setattr(row, name, value)
    with pytest.raises(ValidationError):
        row.full_clean()
    with pytest.raises(IntegrityError), transaction.atomic():
        row.save()


# -- fractions, which SQLite stores in a column of integers ---------------------------------------


def store_fraction(row: UserSettings, name: str, value: float) -> None:
    """Put a value into a column past Django, which would round it down."""
    type(row)._default_manager.filter(pk=row.pk).update(**{name: RawSQL("%s", [value])})


@each_limit
def test_a_fraction_counts_as_not_set(limit: AgentConfigBounds) -> None:
    row = UserAgentConfig.for_user(ada())
    store_fraction(row, limit.name, limit.minimum + 0.5)
    assert UserAgentConfig.objects.get().to_config() == AgentConfig()


@pytest.mark.parametrize("name", ["librarian_timeout", "max_context_nodes"])
def test_so_does_one_among_the_settings_of_models(name: str) -> None:
    row = ModelSettings.for_user(ada())
    default = getattr(row, name)
    store_fraction(row, name, default - 0.5)
    assert getattr(ModelSettings.objects.get(), name) == default


def test_a_fraction_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    row = UserAgentConfig.for_user(ada())
    store_fraction(row, "max_iterations", 10.25)
    for _ in range(3):
        UserAgentConfig.objects.get().to_config()
    assert caplog.messages == [
        "agents_useragentconfig.max_iterations is 10.25 in the database, which is no whole number; "
        "using the default, 15"
    ]


def test_the_next_change_replaces_a_fraction() -> None:
    user = ada()
    row = UserAgentConfig.for_user(user)
    store_fraction(row, "max_iterations", 10.5)
    update_limits(user, {"token_budget": 9_000})
    with connection.cursor() as cursor:
        cursor.execute("SELECT max_iterations FROM agents_useragentconfig")
        assert cursor.fetchall() == [(15,)]
