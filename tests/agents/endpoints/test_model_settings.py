"""The one set of rules for model settings, below the page and the API."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from agents.core.config import ConfigError
from agents.endpoints.model_settings import (
    KEY,
    SETTING_NAMES,
    UnusableConfigError,
    describe_expected,
    has_key,
    update_model_settings,
)
from agents.models import ModelSettings, SettingChange
from agents.settings_service import SettingConflict

pytestmark = pytest.mark.django_db
SECRET = "sk-or-v1-0123456789-the-secret-wxyz"


@pytest.fixture(autouse=True)
def site(settings: Settings) -> None:
    settings.ORACLE_OWN_ENDPOINTS, settings.ORACLE_INSIDE_ENDPOINTS = "presets", ()


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada")


def test_every_setting_has_a_column_and_a_sentence() -> None:
    columns = {column.name for column in ModelSettings._meta.concrete_fields if column.editable}
    assert columns - {"id", "user"} == set(SETTING_NAMES)
    for name in (*SETTING_NAMES, KEY):
        assert describe_expected(name).endswith(".")


def test_every_problem_is_named_and_nothing_is_stored(ada: User) -> None:
    given: dict[str, Any] = {"librarian_timeout": True, "provider": "gone", "colour": "red"}
    with pytest.raises(ConfigError) as refused:
        update_model_settings(ada, {**given, "oracle_model": "m"})
    assert set(refused.value.problems) == set(given)
    assert not SettingChange.objects.exists()


def test_what_cannot_be_used_now_is_told_apart_from_what_is_wrong(ada: User) -> None:
    not_now: list[dict[str, Any]] = [{KEY: SECRET}, {"base_url": "http://10.0.0.1/v1"}]
    wrong: list[dict[str, Any]] = [
        {"provider": "openai", KEY: "a b"},
        {"base_url": "x" * 501},
        {"oracle_model": 7},
    ]
    for given in not_now:
        with pytest.raises(UnusableConfigError):
            update_model_settings(ada, given)
    for given in wrong:
        with pytest.raises(ConfigError) as refused:
            update_model_settings(ada, given)
        assert not isinstance(refused.value, UnusableConfigError)
    assert not SettingChange.objects.exists()


def test_a_version_grows_with_every_change_and_a_stale_one_is_refused(ada: User) -> None:
    assert update_model_settings(ada, {"oracle_model": " m "}).version == 2
    row = update_model_settings(ada, {"provider": "openai", KEY: SECRET}, expected={"version": 2})
    assert (row.oracle_model, has_key(row)) == ("m", True)
    with pytest.raises(SettingConflict):
        update_model_settings(ada, {KEY: ""}, expected={"version": 2})
    assert has_key(ModelSettings.for_user(ada))
