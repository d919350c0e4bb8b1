"""The model settings, read and changed by programs: the rules of the page, and never a key."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.cache import cache
from pytest_django import Settings

from agents.core.config import LIMITS, AgentConfig
from agents.endpoints.encryption import decrypt
from agents.endpoints.model_settings import KEY, SETTING_NAMES, update_model_settings
from agents.models import ModelSettings, SettingChange
from agents.web import throttling
from chat.api.throttling import reset as reset_throttles
from chat.api.urls import ENDPOINTS
from settings_ui.forms.models import MODEL_FIELDS as PAGE
from tests.chat.api.api_client import CONFIG, Caller, refusal
from tests.chat.factories import member
from tests.support.resolver import replace_resolver

pytestmark = pytest.mark.django_db(transaction=True)
MODELS = "settings/models"
SECRET = "sk-or-v1-0123456789-the-secret-wxyz"
DEFAULTS = {
    "provider": "",
    "base_url": "",
    "oracle_model": "",
    "subagent_model": "",
    "thinking_enabled": False,
    "reasoning_effort": "medium",
    "librarian_timeout": 1_200,
    "delegate_long_results": True,
    "max_context_nodes": 30,
    **AgentConfig().model_dump(),
}


@pytest.fixture(autouse=True)
def fresh(settings: Settings) -> Iterator[None]:
    settings.ORACLE_LLM_BASE_URL = settings.ORACLE_LLM_API_KEY = ""
    settings.ORACLE_OWN_ENDPOINTS, settings.ORACLE_INSIDE_ENDPOINTS = "presets", ()
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def resolved(monkeypatch: pytest.MonkeyPatch) -> dict[str, Sequence[str]]:
    return replace_resolver(monkeypatch)


@sync_to_async
def stored(caller: Caller) -> list[Any]:
    """Every byte of somebody's model settings, and what was recorded."""
    rows = ModelSettings.objects.filter(user=caller.user).values()
    changes = SettingChange.objects.filter(user=caller.user).order_by("id")
    return [list(rows), list(changes.values_list("name", "old", "new", "by"))]


async def patch(caller: Caller, **values: Any) -> Any:
    return await caller("PATCH", MODELS, json=values)


def test_everything_that_the_page_has_can_be_read_and_changed_here() -> None:
    assert set(SETTING_NAMES) == set(PAGE)
    shown, changed = (
        next(e for e in ENDPOINTS if (e.method, e.path) == (method, MODELS))
        for method in ("GET", "PATCH")
    )
    view: Any = shown.answers[200]
    assert set(view.model_fields) == {*SETTING_NAMES, *LIMITS, "version", "has_key"}
    assert changed.takes is not None
    assert set(changed.takes.model_fields) == {*SETTING_NAMES, *LIMITS, "version", KEY}


async def test_the_defaults_are_there_before_anything_was_set(ada: Caller) -> None:
    got = await ada("GET", MODELS)
    assert got.json() == {"version": 1, **DEFAULTS, "has_key": False}
    assert got.headers["etag"] == '"1"'


GOOD = {
    "provider": "openrouter",
    "oracle_model": "qwen/qwen3-235b",
    "subagent_model": "kleines-modell-ü",
    "thinking_enabled": True,
    "reasoning_effort": "high",
    "librarian_timeout": 60,
    "delegate_long_results": False,
    "max_context_nodes": 100,
}


async def test_some_are_changed_the_others_stay_and_each_change_is_recorded(ada: Caller) -> None:
    got = await patch(ada, **GOOD)
    assert got.json() == {"version": 2, **DEFAULTS, **GOOD, "has_key": False}
    assert got.headers["etag"] == '"2"'
    assert (await ada("GET", MODELS)).json() == got.json()
    _, changes = await stored(ada)
    assert sorted(changes) == sorted(
        (name, str(DEFAULTS[name]), str(value), ada.user.pk) for name, value in GOOD.items()
    )


async def test_limits_are_changed_together_with_models_and_both_count_as_one_version(
    ada: Caller,
) -> None:
    got = await patch(ada, oracle_model="large", max_iterations=20, timeoutSeconds=60, version=1)
    changed = {"oracle_model": "large", "max_iterations": 20, "timeout_seconds": 60}
    assert got.json() == {"version": 3, **DEFAULTS, **changed, "has_key": False}
    assert (await ada("GET", CONFIG)).json()["max_iterations"] == 20
    for body in ({"max_iterations": 30}, {"oracle_model": "small"}):
        (problem,) = refusal(await patch(ada, **body, version=2), 409)
        assert problem["ctx"] == got.json()
    assert (await ada("PATCH", CONFIG, json={"max_iterations": 30})).status_code == 200
    assert (await ada("GET", MODELS)).headers["etag"] == '"4"'


async def test_a_bad_limit_or_a_bad_model_setting_changes_neither(ada: Caller) -> None:
    before = await ada.stored()
    (problem,) = refusal(await patch(ada, oracle_model="large", max_iterations=51), 422)
    assert (problem["loc"], problem["msg"]) == (
        ["body", "max_iterations"],
        "Must be a whole number from 1 to 50. Still using 15.",
    )
    (problem,) = refusal(await patch(ada, max_iterations=20, api_key="sk-1"), 409)
    assert "Choose a provider first" in problem["msg"]
    assert await ada.stored() == before


async def test_the_same_again_changes_nothing(ada: Caller) -> None:
    assert (await patch(ada, reasoning_effort="medium")).json()["version"] == 1
    assert (await patch(ada)).json()["version"] == 1
    assert (await stored(ada))[1] == []


BAD: list[tuple[str, Any, str]] = [
    *[("librarian_timeout", v, "from 60 to 3,600. Still using 1200.") for v in (59, 3601, 0, 1.5)],
    *[
        ("max_context_nodes", v, "from 5 to 100. Still using 30.")
        for v in (4, 101, "7", True, None)
    ],
    *[("oracle_model", v, "at most 200") for v in ("x" * 201, "a\x00b", "a\nb", "\u202e", 7, None)],
    *[("reasoning_effort", v, "low, medium, high") for v in ("extreme", "", 1, None)],
    *[("thinking_enabled", v, "true or false. Still using false.") for v in ("on", 1, None)],
    *[("provider", v, "openrouter, openai") for v in ("gone", "ollama", "own", None, ["openai"])],
    *[
        ("base_url", v, "https://models.example/v1")
        for v in ("models.example/v1", "file:///etc", 7, "http://ü/")
    ],
    *[(KEY, v, "A key has") for v in ("x" * 501, "a b", "schlüssel", 7, None)],
]


async def test_a_bad_value_changes_nothing_and_is_told_with_what_is_in_force(ada: Caller) -> None:
    await ada("GET", MODELS)
    before = await stored(ada)
    for name, value, told in BAD:
        reset_throttles()
        (problem,) = refusal(await patch(ada, **{name: value}), 422)
        assert problem["loc"] == ["body", name], value
        assert told in problem["msg"], (name, value)
        good = next(each for each in ("max_context_nodes", "librarian_timeout") if each != name)
        refusal(await patch(ada, **{name: value, good: 60}), 422)
        assert await stored(ada) == before, (name, value)


async def test_there_are_no_other_settings(ada: Caller) -> None:
    for name in ("sealed_key", "key_hint", "has_key", "user", "id", "max_iterations"):
        (problem,) = refusal(await patch(ada, **{name: "x"}), 422)
        assert problem["loc"] == ["body", name]


# -- conflicts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["body", "header"])
async def test_a_stale_version_is_a_conflict_that_tells_what_is_in_force(
    ada: Caller, how: str
) -> None:
    await sync_to_async(update_model_settings)(ada.user, {"oracle_model": "one"})
    before = await stored(ada)
    body = {"oracle_model": "two"} | ({"version": 1} if how == "body" else {})
    headers = {} if how == "body" else {"If-Match": '"1"'}
    response = await ada("PATCH", MODELS, json=body, headers=headers)
    (problem,) = refusal(response, 409)
    in_force = {"version": 2, **DEFAULTS, "oracle_model": "one", "has_key": False}
    assert (problem["ctx"], problem["loc"]) == (in_force, ["body", "version"])
    assert response.headers["etag"] == '"2"'
    assert await stored(ada) == before
    seen = await ada("PATCH", MODELS, json={"oracle_model": "two", "version": 2})
    assert (seen.status_code, seen.json()["version"]) == (200, 3)


async def test_of_many_that_saw_the_same_version_one_changes_it(ada: Caller) -> None:
    await ada("GET", MODELS)
    answers = await asyncio.gather(
        *(patch(ada, max_context_nodes=number, version=1) for number in range(40, 48))
    )
    assert sorted(each.status_code for each in answers) == [200] + [409] * 7
    assert len((await stored(ada))[1]) == 1


# -- who may --------------------------------------------------------------------------------------


async def test_only_a_token_for_settings_reads_and_changes_them(ada: Caller) -> None:
    less = await ada.as_scopes("ask", "read")
    before = await stored(ada)
    refusal(await less("GET", MODELS), 403)
    refusal(await patch(less, oracle_model="x"), 403)
    refusal(await ada.http.get(MODELS), 401)
    enough = await ada.as_scopes("settings")
    assert (await enough("GET", MODELS)).status_code == 200
    assert (await stored(ada))[1] == before[1]


async def test_everybody_has_their_own(ada: Caller) -> None:
    await patch(ada, oracle_model="mine")
    user, _ = await sync_to_async(member)("eve")
    eve = await ada.as_user(user)
    assert (await eve("GET", MODELS)).json()["oracle_model"] == ""
    await patch(eve, oracle_model="hers")
    assert (await ada("GET", MODELS)).json()["oracle_model"] == "mine"


# -- addresses ------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/v1", "http://10.0.0.1/v1", "http://a/v1"])
async def test_an_address_that_is_not_allowed_here_is_refused(ada: Caller, url: str) -> None:
    await ada("GET", MODELS)
    before = await stored(ada)
    (problem,) = refusal(await patch(ada, base_url=url), 409)
    assert problem["loc"] == ["body", "base_url"]
    assert await stored(ada) == before


async def test_a_name_that_leads_inside_is_refused(
    ada: Caller, settings: Settings, resolved: dict[str, Sequence[str]]
) -> None:
    settings.ORACLE_OWN_ENDPOINTS = "yes"
    resolved.update({"in.example": ["10.0.0.1"], "out.example": ["8.8.8.8"]})
    (problem,) = refusal(await patch(ada, base_url="https://in.example/v1"), 409)
    assert "inside" in problem["msg"]
    assert "10.0.0.1" not in problem["msg"]
    got = await patch(ada, provider="own", base_url="https://out.example/v1")
    assert (got.json()["provider"], got.json()["base_url"]) == ("own", "https://out.example/v1")


async def test_names_are_not_resolved_for_somebody_without_end(
    ada: Caller, settings: Settings, resolved: dict[str, Sequence[str]], monkeypatch: Any
) -> None:
    settings.ORACLE_OWN_ENDPOINTS = "yes"
    monkeypatch.setattr(throttling, "MAX_PER_MINUTE", {"resolve": 2})
    for number in range(2):
        assert (await patch(ada, base_url=f"https://m{number}.example/v1")).status_code == 200
    response = await patch(ada, base_url="https://last.example/v1")
    refusal(response, 429)
    assert response.headers["retry-after"] == "60"


async def test_each_provider_has_a_base_url_and_a_key_of_its_own(
    ada: Caller, settings: Settings
) -> None:
    settings.ORACLE_OWN_ENDPOINTS = "yes"
    own = await patch(ada, provider="own", base_url="https://8.8.8.8/v1", api_key=SECRET)
    seen = [
        (answer.json()["base_url"], answer.json()["has_key"])
        for answer in (own, await patch(ada, provider=""), await patch(ada, provider="own"))
    ]
    assert seen == [("https://8.8.8.8/v1", True), ("", False), ("https://8.8.8.8/v1", True)]


# -- keys -----------------------------------------------------------------------------------------


async def test_a_key_goes_in_and_is_never_told(
    ada: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    (problem,) = refusal(await patch(ada, api_key=SECRET), 409)
    assert "Choose a provider first" in problem["msg"]
    answers = [
        await patch(ada, provider="openrouter", api_key=SECRET),
        await ada("GET", MODELS),
        await patch(ada, api_key=SECRET, version=1),
        await patch(ada, api_key=SECRET + "ü"),
        await patch(ada, oracle_model="m"),
    ]
    assert answers[0].json()["has_key"] is True
    assert [each.status_code for each in answers] == [200, 200, 409, 422, 200]
    row = await ModelSettings.objects.aget(user=ada.user)
    assert decrypt(row.sealed_key).endswith(SECRET)
    _, changes = await stored(ada)
    assert ("sealed_key", "", "…wxyz", ada.user.pk) in changes
    for text in (*(each.text for each in answers), str(changes), caplog.text, row.sealed_key):
        assert SECRET not in text
        assert "the-secret" not in text


async def test_a_key_is_for_one_provider_and_an_empty_one_removes_it(ada: Caller) -> None:
    await patch(ada, provider="openrouter", api_key=SECRET)
    assert (await patch(ada, provider="openai")).json()["has_key"] is False
    assert (await patch(ada, provider="openrouter")).json()["has_key"] is True
    assert (await patch(ada, api_key="")).json()["has_key"] is False
    assert (await ModelSettings.objects.aget(user=ada.user)).sealed_key == ""


async def test_what_is_refused_with_a_key_leaves_everything_as_it_was(ada: Caller) -> None:
    await ada("GET", MODELS)
    before = await stored(ada)
    refusal(await patch(ada, provider="", oracle_model="m", api_key=SECRET), 409)
    assert await stored(ada) == before
