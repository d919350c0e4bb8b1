"""The one set of rules for model settings, below the page and the API."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from agents.core.config import ConfigError
from agents.endpoints.keys import decrypt_key, encrypt_key
from agents.endpoints.model_settings import (
    KEY,
    SETTING_NAMES,
    UnusableConfigError,
    describe_expected,
    has_key,
    update_model_settings,
)
from agents.endpoints.selection import select_endpoint
from agents.llm import parse_base_url
from agents.models import ModelSettings, ProviderSettings, SettingChange
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


# -- another provider and back --------------------------------------------------------------------

MINE, OTHER = "https://models.example/v1", "https://others.example/v1"


@pytest.fixture
def anywhere(settings: Settings) -> None:
    settings.ORACLE_OWN_ENDPOINTS = "yes"


def choose(user: User, **values: Any) -> tuple[str, str, str]:
    """Change settings; return the chosen provider, where it is, and the key that it is sent."""
    row = update_model_settings(user, values)
    endpoint = select_endpoint(row)
    return (row.provider, endpoint.base_url, endpoint.api_key) if endpoint else ("", "", "")


@pytest.mark.usefixtures("anywhere")
@pytest.mark.parametrize("between", [[""], ["openai"], ["", "openai", "openrouter", ""]])
def test_a_provider_that_is_chosen_again_has_its_base_url_and_key_as_before(
    ada: User, between: list[str]
) -> None:
    mine = choose(ada, provider="own", base_url=MINE, **{KEY: SECRET})
    assert mine == ("own", MINE, SECRET)
    for provider in between:
        row = update_model_settings(ada, {"provider": provider})
        assert (row.base_url, row.sealed_key, row.key_hint) == ("", "", "")
        assert not has_key(row)
    assert choose(ada, provider="own") == mine
    assert ModelSettings.for_user(ada).key_hint == SECRET[-4:].rjust(5, "…")
    assert not ProviderSettings.objects.filter(provider="own").exists()


def test_each_provider_has_a_key_of_its_own(ada: User) -> None:
    keys = {"openai": "sk-of-openai-0123456789", "openrouter": SECRET}
    for provider, key in keys.items():
        choose(ada, provider=provider, **{KEY: key})
    for provider in (*keys, *keys):
        assert choose(ada, provider=provider)[2] == keys[provider]
    update_model_settings(ada, {KEY: ""})
    assert [choose(ada, provider=provider)[2] for provider in keys] == [keys["openai"], ""]


@pytest.mark.usefixtures("anywhere")
def test_two_keys_for_one_origin_stay_with_their_providers(ada: User) -> None:
    choose(ada, provider="own", base_url="https://openrouter.ai/api/v1", **{KEY: "sk-own-0123456"})
    choose(ada, provider="openrouter", **{KEY: SECRET})
    choose(ada, provider="")
    assert choose(ada, provider="openrouter")[2] == SECRET
    assert choose(ada, provider="own")[2] == "sk-own-0123456"


@pytest.mark.usefixtures("anywhere")
def test_a_key_that_was_put_away_is_read_for_no_other_origin(ada: User) -> None:
    choose(ada, provider="own", base_url=MINE, **{KEY: SECRET})
    assert choose(ada, provider="vllm", base_url=OTHER)[2] == ""
    (row,) = ProviderSettings.objects.all()
    assert (decrypt_key(row, MINE), decrypt_key(row, OTHER)) == (SECRET, "")
    assert choose(ada, provider="own", base_url=OTHER) == ("own", OTHER, "")
    assert choose(ada, base_url=MINE) == ("own", MINE, SECRET)


def test_what_was_entered_in_the_same_request_counts(ada: User) -> None:
    choose(ada, provider="openai", **{KEY: "sk-of-openai-0123456789"})
    choose(ada, provider="")
    assert choose(ada, provider="openai", **{KEY: SECRET})[2] == SECRET
    choose(ada, provider="")
    assert choose(ada, provider="openai")[2] == SECRET


def test_a_key_from_before_providers_had_their_own_is_found_by_its_origin(ada: User) -> None:
    """It was kept whatever was chosen after it."""
    sealed = encrypt_key(parse_base_url("https://openrouter.ai/api/v1"), SECRET)
    ModelSettings.for_user(ada)
    ModelSettings.objects.update(sealed_key=sealed, key_hint="…wxyz")
    assert choose(ada, provider="openai")[2] == ""
    assert choose(ada, provider="openrouter")[2] == SECRET
    assert choose(ada, provider="openai")[2] == ""
    assert not any(
        row.sealed_key for row in ProviderSettings.objects.exclude(provider="openrouter")
    )


def test_a_stale_form_switches_nothing(ada: User) -> None:
    update_model_settings(ada, {"provider": "openai", KEY: SECRET})
    with pytest.raises(SettingConflict):
        update_model_settings(ada, {"provider": ""}, expected={"provider": "openrouter"})
    assert has_key(ModelSettings.for_user(ada))
    assert not ProviderSettings.objects.exists()


@pytest.mark.usefixtures("anywhere")
def test_what_was_put_away_goes_with_the_person(ada: User) -> None:
    choose(ada, provider="own", base_url=MINE, **{KEY: SECRET})
    choose(ada, provider="")
    ada.delete()
    assert not ProviderSettings.objects.exists()
