"""The page of the models: what is saved, what is refused, and that a key stays a secret."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test import Client
from pytest_django import Settings

from agents.core.messages import ModelError
from agents.endpoints import keys as endpoint_keys
from agents.endpoints import probe, selection
from agents.endpoints.encryption import decrypt
from agents.llm import client as client_module
from agents.llm import model_list as llm_listing
from agents.llm.retry import RetryPolicy
from agents.models import ModelSettings, SettingChange
from agents.web import throttling
from settings_ui.forms.models import MODEL_FIELDS
from tests.agents.llm.test_url_policy import INSIDE, ODD
from tests.settings_ui.input_cases import browser
from tests.support.endpoint import refusing_base_url
from tests.support.listings import Answer, Lister, models
from tests.support.pages import Page, problems
from tests.support.resolver import replace_resolver
from tests.support.script import Fault, Script, say
from tests.support.threaded_endpoint import Stage
from tests.support.wire import RAW_DETAIL

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}
KEY = "sk-or-v1-0123456789-the-secret-wxyz"
OTHER = "sk-other-9876543210-the-secret-abcd"
SITE_KEY = "sk-of-the-site-5555555555"


@pytest.fixture(autouse=True)
def fresh(settings: Settings) -> Iterator[None]:
    """No endpoint of the site, and nothing remembered."""
    settings.ORACLE_LLM_BASE_URL = settings.ORACLE_LLM_API_KEY = ""
    settings.ORACLE_OWN_ENDPOINTS, settings.ORACLE_INSIDE_ENDPOINTS = "presets", ()
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def anything(settings: Settings) -> None:
    settings.ORACLE_OWN_ENDPOINTS, settings.ORACLE_INSIDE_ENDPOINTS = "yes", ("*",)


@pytest.fixture
def ada() -> User:
    user = User.objects.create_user("ada")
    ModelSettings.for_user(user)
    return user


def get(user: User, path: str = "", *, htmx: bool = False) -> Any:
    headers = HTMX if htmx else {}
    return browser(user).get(f"/settings/models/{path}", secure=True, headers=headers)


def post(user: User, path: str, given: Any = None, *, htmx: bool = True) -> Any:
    headers = HTMX if htmx else {}
    return browser(user).post(f"/settings/models/{path}", given or {}, secure=True, headers=headers)


def save(user: User, name: str, value: str, *, htmx: bool = True, **more: str) -> Any:
    return post(user, f"{name}/", {"value": value, **more}, htmx=htmx)


def said(response: Any) -> str:
    return Page(response.content.decode()).text()


def chosen(user: User) -> ModelSettings:
    return ModelSettings.objects.get(user=user)


def stored(user: User) -> Any:
    """Every byte of a user's settings, and how many changes are recorded."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM agents_modelsettings WHERE user_id = %s", [user.pk])
        return cursor.fetchall(), SettingChange.objects.filter(user=user).count()


def at(user: User, base_url: str, model: str = "m", key: str = "") -> None:
    """Somebody with an endpoint of their own."""
    ModelSettings.objects.filter(user=user).update(
        provider="own", base_url=base_url, oracle_model=model
    )
    if key:
        assert post(user, "key/", {"value": key}).status_code == 200


# -- the page -------------------------------------------------------------------------------------


@pytest.mark.parametrize("provider", ["", "openrouter", "own", "gone"])
@pytest.mark.parametrize("site", ["", "https://models.example/v1"])
@pytest.mark.parametrize("own", ["no", "presets", "yes"])
def test_the_page_is_well_formed_whatever_is_set(
    ada: User, settings: Settings, provider: str, site: str, own: str
) -> None:
    settings.ORACLE_LLM_BASE_URL, settings.ORACLE_OWN_ENDPOINTS = site, own
    ModelSettings.objects.filter(user=ada).update(provider=provider, oracle_model='<b>"x"</b>')
    response = get(ada)
    assert response.status_code == 200
    assert problems(response.content.decode()) == []
    assert "no-store" in response["Cache-Control"]


def test_whoever_is_not_signed_in_is_asked_to() -> None:
    for path in ("", "list/", "provider/"):
        response = Client().get(f"/settings/models/{path}", secure=True)
        assert response["Location"].startswith("/sign-in/")
    assert Client().post("/settings/models/key/", secure=True)["Location"].startswith("/sign-in/")
    piece = Client().post("/settings/models/test/", secure=True, headers=HTMX)
    assert (piece.status_code, piece.content) == (401, b"")


@pytest.mark.parametrize("path", ["key/", "test/", "provider/", "provider/reset/"])
def test_a_form_of_another_site_is_refused(ada: User, path: str) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ada)
    assert strict.post(f"/settings/models/{path}", {"value": "x"}, secure=True).status_code == 403


def test_there_are_no_other_settings(ada: User) -> None:
    for name in ("sealed_key", "key_hint", "user", "id"):
        assert get(ada, f"{name}/").status_code == 404
        assert save(ada, name, "x").status_code == 404
        assert post(ada, f"{name}/reset/").status_code == 404


# -- saving ---------------------------------------------------------------------------------------

GOOD = [
    ("provider", "openrouter", "openrouter"),
    ("provider", "openai", "openai"),
    ("oracle_model", " qwen/qwen3-235b ", "qwen/qwen3-235b"),
    ("oracle_model", "x" * 200, "x" * 200),
    ("subagent_model", "small", "small"),
    ("thinking_enabled", "on", True),
    ("reasoning_effort", "high", "high"),
    ("librarian_timeout", "60", 60),
    ("librarian_timeout", "3,600", 3_600),
    ("max_context_nodes", "5", 5),
    ("max_context_nodes", "100", 100),
]


@pytest.mark.parametrize("htmx", [True, False])
@pytest.mark.parametrize(("name", "value", "expected"), GOOD)
def test_a_good_value_is_stored_and_recorded(
    ada: User, name: str, value: str, expected: object, htmx: bool
) -> None:
    before = getattr(chosen(ada), name)
    response = save(ada, name, value, htmx=htmx, seen=str(before))
    assert response.status_code == (200 if htmx else 302)
    assert getattr(chosen(ada), name) == expected
    (recorded,) = SettingChange.objects.filter(user=ada)
    assert (recorded.name, recorded.new, recorded.by) == (name, str(expected), ada)
    if htmx:
        assert "Saved" in said(response)


BAD = [
    *[("librarian_timeout", value) for value in ("59", "3601", "0", "-1", "1.5", "1e9", "", "NaN")],
    *[("max_context_nodes", value) for value in ("4", "101", "words", "🙂", "9" * 10_000, "[7]")],
    *[("oracle_model", value) for value in ("x" * 201, "a\x00b", "a\nb", "\u202e")],
    ("reasoning_effort", "extreme"),
    ("reasoning_effort", ""),
    ("thinking_enabled", "perhaps"),
    ("provider", "gone"),
    ("provider", "ollama"),
    ("provider", "own"),
]


@pytest.mark.parametrize("htmx", [True, False])
def test_a_bad_value_changes_nothing_and_is_told_with_what_is_in_force(
    ada: User, htmx: bool
) -> None:
    before = stored(ada)
    for name, value in BAD:
        response = save(ada, name, value, htmx=htmx)
        assert response.status_code == 422, (name, value)
        assert "Not saved." in said(response), (name, value)
        assert "Still" in said(response), (name, value)
        assert stored(ada) == before, (name, value)


def test_a_value_that_was_changed_elsewhere_is_not_overwritten(ada: User) -> None:
    save(ada, "oracle_model", "one")
    response = save(ada, "oracle_model", "three", seen="")
    assert response.status_code == 409
    assert "Changed elsewhere to one" in said(response)
    assert chosen(ada).oracle_model == "one"
    assert save(ada, "oracle_model", "three", seen="one").status_code == 200


def test_a_setting_goes_back_to_its_default(ada: User) -> None:
    for name, value, _ in GOOD:
        save(ada, name, value)
    for name, setting in MODEL_FIELDS.items():
        assert post(ada, f"{name}/reset/").status_code == 200
        assert getattr(chosen(ada), name) == setting.default


def test_bounds_and_help_are_those_of_the_columns() -> None:
    for name in ("librarian_timeout", "max_context_nodes"):
        column: Any = ModelSettings._meta.get_field(name)
        setting: Any = MODEL_FIELDS[name]
        assert (setting.help_text, setting.default) == (column.help_text, column.default)
        bounds = [validator.limit_value for validator in column.validators]
        assert sorted({setting.minimum, setting.maximum}) == sorted(bounds)


# -- addresses ------------------------------------------------------------------------------------


def test_an_address_that_is_inside_is_refused_and_what_is_stored_stays(
    ada: User, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ORACLE_OWN_ENDPOINTS = "yes"
    monkeypatch.setattr(throttling, "MAX_PER_MINUTE", {"resolve": 10_000})
    at(ada, "https://8.8.8.8/v1")
    before, page = stored(ada), browser(ada)
    for base_url in filter(str.strip, [*INSIDE, *ODD]):
        given = {"value": base_url}
        response = page.post("/settings/models/base_url/", given, secure=True, headers=HTMX)
        assert response.status_code == 422, base_url
        assert "Still using: https://8.8.8.8/v1" in said(response), base_url
        assert stored(ada) == before, base_url


@pytest.fixture
def resolved(monkeypatch: pytest.MonkeyPatch) -> dict[str, Sequence[str]]:
    return replace_resolver(monkeypatch)


@pytest.mark.parametrize("address", ["10.0.0.1", "::1", "169.254.169.254", "::ffff:10.0.0.1"])
def test_a_name_that_leads_inside_is_refused(
    ada: User, settings: Settings, resolved: dict[str, Sequence[str]], address: str
) -> None:
    settings.ORACLE_OWN_ENDPOINTS = "yes"
    resolved["models.example"] = [address]
    response = save(ada, "base_url", "https://models.example/v1")
    assert response.status_code == 422
    assert "inside" in said(response)
    assert address not in said(response)
    assert chosen(ada).base_url == ""


def test_a_name_that_leads_outside_is_saved_and_so_is_one_that_does_not_resolve_now(
    ada: User, settings: Settings, resolved: dict[str, Sequence[str]]
) -> None:
    settings.ORACLE_OWN_ENDPOINTS = "yes"
    resolved["models.example"] = ["8.8.8.8"]
    assert save(ada, "base_url", "https://models.example/v1").status_code == 200
    assert save(ada, "base_url", "https://later.example/v1").status_code == 200
    assert chosen(ada).base_url == "https://later.example/v1"


def test_names_are_not_resolved_for_somebody_without_end(
    ada: User, settings: Settings, resolved: dict[str, Sequence[str]]
) -> None:
    settings.ORACLE_OWN_ENDPOINTS = "yes"
    for number in range(throttling.MAX_PER_MINUTE["resolve"]):
        assert save(ada, "base_url", f"https://m{number}.example/v1").status_code == 200
    assert "more than" in said(save(ada, "base_url", "https://last.example/v1"))


def test_the_base_url_is_shown_only_where_it_means_something(ada: User, anything: None) -> None:
    shown = {
        provider: 'name="value" value="" maxlength="500"' in said_raw(ada, provider)
        for provider in ("", "openrouter", "openai", "ollama", "vllm", "llama_cpp", "own")
    }
    assert [name for name, is_shown in shown.items() if is_shown] == [
        "ollama", "vllm", "llama_cpp", "own",
    ]  # fmt: skip


def said_raw(user: User, provider: str) -> str:
    ModelSettings.objects.filter(user=user).update(provider=provider)
    return str(get(user).content.decode())


def test_an_endpoint_that_is_no_longer_allowed_is_said_and_not_asked(
    ada: User, settings: Settings
) -> None:
    with Lister(models("a")) as lister:
        at(ada, lister.base_url)
        assert "Your questions cannot be answered" in said(get(ada))
        assert "ORACLE_INSIDE_ENDPOINTS" in said(get(ada, "list/", htmx=True))
        assert "ORACLE_INSIDE_ENDPOINTS" in said(post(ada, "test/"))
        settings.ORACLE_OWN_ENDPOINTS = "no"
        assert "everybody uses" in said(post(ada, "test/"))
        assert lister.asked == []


# -- keys -----------------------------------------------------------------------------------------


def test_a_key_is_stored_encrypted_and_only_its_last_four_are_shown(
    ada: User, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    save(ada, "provider", "openrouter")
    answers = [
        post(ada, "key/", {"value": f" {KEY} "}),
        post(ada, "key/", {"value": KEY}, htmx=False),
        get(ada),
        get(ada, "key/"),
        post(ada, "key/", {"value": KEY + "é"}),
        post(ada, "key/", {"value": KEY + "é"}, htmx=False),
        save(ada, "oracle_model", "m"),
        browser(ada).get("/settings/changes/", secure=True),
    ]
    row = chosen(ada)
    assert "…wxyz" in said(answers[0])
    assert decrypt(row.sealed_key) == f"https://openrouter.ai:443 {KEY}"
    assert row.key_hint == "…wxyz"
    everything = "".join(answer.content.decode() for answer in answers)
    everything += str(stored(ada)) + caplog.text + repr(row) + str(row)
    everything += str(list(SettingChange.objects.values()))
    everything += repr(selection.select_endpoint(row))
    assert KEY not in everything
    assert KEY[:-4] not in everything


def test_changes_of_a_key_are_recorded_by_their_hints(ada: User) -> None:
    save(ada, "provider", "openrouter")
    SettingChange.objects.all().delete()
    post(ada, "key/", {"value": KEY})
    post(ada, "key/", {"value": OTHER})
    post(ada, "key/", {"remove": "yes"})
    rows = SettingChange.objects.order_by("id").values_list("name", "old", "new")
    assert list(rows) == [
        ("sealed_key", "", "…wxyz"),
        ("sealed_key", "…wxyz", "…abcd"),
        ("sealed_key", "…abcd", ""),
    ]
    assert (chosen(ada).sealed_key, chosen(ada).key_hint) == ("", "")


@pytest.mark.parametrize("htmx", [True, False])
def test_a_provider_that_is_chosen_again_shows_its_base_url_and_key_again(
    ada: User, anything: None, htmx: bool
) -> None:
    at(ada, "http://127.0.0.1:1/v1", key=KEY)
    away = save(ada, "provider", "", htmx=htmx).content.decode() + get(ada).content.decode()
    assert "127.0.0.1:1" not in away
    assert "…wxyz" not in away
    back = save(ada, "provider", "own", htmx=htmx)
    html = (back if htmx else get(ada)).content.decode()
    (address,) = [field for field in Page(html).all("input") if field.get("id") == "base_url"]
    assert address.get("value") == "http://127.0.0.1:1/v1"
    assert "Yours ends in …wxyz" in Page(html).text()
    assert KEY not in html


@pytest.mark.parametrize(
    "value", ["", "  ", "two words", "kéy", "a\x00b", "x" * 501, "key\nwith\nlines"]
)
@pytest.mark.parametrize("htmx", [True, False])
def test_what_cannot_be_a_key_is_refused_and_not_repeated(
    ada: User, value: str, htmx: bool
) -> None:
    save(ada, "provider", "openrouter")
    before = stored(ada)
    response = post(ada, "key/", {"value": value}, htmx=htmx)
    assert response.status_code == 422
    assert "Not saved." in said(response)
    assert not value.strip() or value not in response.content.decode()
    assert stored(ada) == before


def test_a_key_needs_a_provider_to_be_for(ada: User) -> None:
    response = post(ada, "key/", {"value": KEY}, htmx=False)
    assert response.status_code == 422
    assert chosen(ada).sealed_key == ""


def test_a_key_is_sent_to_no_other_place_than_it_was_entered_for(ada: User, anything: None) -> None:
    """Else whoever can change the settings could read it, by an address of their own."""
    with Lister(models("a")) as mine, Lister(models("b")) as another:
        at(ada, mine.base_url, key=KEY)
        get(ada, "list/", htmx=True)
        save(ada, "base_url", another.base_url)
        assert "You have a key for" in said(get(ada))
        get(ada, "list/", htmx=True)
        post(ada, "test/")
        save(ada, "base_url", mine.base_url)
        get(ada, "list/?again", htmx=True)
        assert {key for _, key in mine.asked} == {f"Bearer {KEY}"}
        assert {key for _, key in another.asked} == {""}


def test_the_site_s_key_goes_to_the_site_s_endpoint_only(
    ada: User, anything: None, settings: Settings
) -> None:
    with Lister(models("a")) as mine, Lister(models("b")) as site:
        settings.ORACLE_LLM_BASE_URL, settings.ORACLE_LLM_API_KEY = site.base_url, SITE_KEY
        get(ada, "list/", htmx=True)
        at(ada, mine.base_url)
        get(ada, "list/", htmx=True)
        at(ada, site.base_url)  # the same place, but as a person's own
        get(ada, "list/", htmx=True)
        assert [key for _, key in mine.asked] == [""]
        assert [key for _, key in site.asked] == [f"Bearer {SITE_KEY}", ""]


def test_nobody_else_s_key_or_list_is_used(ada: User, anything: None) -> None:
    bob = User.objects.create_user("bob")
    ModelSettings.for_user(bob)
    with Lister(models("a")) as lister:
        at(ada, lister.base_url, key=KEY)
        at(bob, lister.base_url)
        get(ada, "list/", htmx=True)
        get(bob, "list/", htmx=True)
        post(bob, "test/")
        keys = [key for _, key in lister.asked]
        assert (keys[0], set(keys[1:])) == (f"Bearer {KEY}", {""})
    assert "…wxyz" not in get(bob).content.decode()


def test_a_key_that_cannot_be_opened_any_more_is_as_if_there_were_none(
    ada: User, anything: None, settings: Settings
) -> None:
    at(ada, "http://127.0.0.1:1/v1", key=KEY)
    settings.SECRET_KEY = "another"
    assert endpoint_keys.decrypt_key(chosen(ada), "http://127.0.0.1:1/v1") == ""


# -- the list -------------------------------------------------------------------------------------


def test_the_list_is_offered_with_what_is_known_of_each(ada: User, anything: None) -> None:
    entries = models({"id": "big", "context_length": 1_000_000}, "gpt-4o", "odd")
    with Lister(entries) as lister:
        at(ada, lister.base_url, "big")
        html = get(ada, "list/", htmx=True).content.decode()
        assert '<option value="big">1,000,000 tokens</option>' in html
        assert '<option value="gpt-4o">128,000 tokens</option>' in html
        assert '<option value="odd"></option>' in html
        assert "3 models to choose from." in html
        assert "Its context is 1,000,000 tokens." in html
        get(ada, "list/", htmx=True)
        assert len(lister.asked) == 1  # remembered
        assert "Its context is 1,000,000 tokens." in said(get(ada))
        get(ada, "list/?again", htmx=True)
        assert len(lister.asked) == 2


def test_without_javascript_the_list_is_part_of_the_page(ada: User, anything: None) -> None:
    with Lister(models("one", "two")) as lister:
        at(ada, lister.base_url)
        response = get(ada, "?list")
        assert problems(response.content.decode()) == []
        assert '<option value="two">' in response.content.decode()


def test_names_of_models_are_text(ada: User, anything: None) -> None:
    hostile = '"><script>alert(1)</script><b x="'
    with Lister(models(hostile, "&lt;", "'")) as lister:
        at(ada, lister.base_url)
        html = get(ada, "?list").content.decode()
        assert problems(html) == []
        assert "<script>alert" not in html
        assert hostile in [at.get("value") for at in Page(html).all("option")]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(b"{}", 401), "refused the API key"),
        (Answer(b"{}", 404), "ends in /v1"),
        (Answer(b"<html>raw</html>", kind="text/html"), "web page"),
        (Answer(b'{"data": ['), "cannot be read"),
        (Answer(b"", 302, headers={"location": "http://127.0.0.1/"}), "not followed"),
        (Answer(b"{}", 500), "overloaded"),
    ],
)
def test_why_there_is_no_list_is_said(
    ada: User, anything: None, answer: Answer, words: str
) -> None:
    with Lister(answer) as lister:
        at(ada, lister.base_url)
        text = said(get(ada, "list/", htmx=True))
        assert "The models could not be listed." in text
        assert words in text


def test_an_endpoint_that_takes_for_ever_is_left(
    ada: User, anything: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llm_listing, "LIST_SECONDS", 0.3)
    with Lister(Answer(models("a").body, delay=30)) as lister:
        at(ada, lister.base_url)
        assert "did not answer in time" in said(get(ada, "list/", htmx=True))


def test_a_huge_list_is_cut_and_said_to_be(ada: User, anything: None) -> None:
    with Lister(models(*[f"m{n}" for n in range(3_000)])) as lister:
        at(ada, lister.base_url)
        html = get(ada, "list/", htmx=True).content.decode()
        assert html.count("<option") == 2_000
        assert "The endpoint's list is longer" in html


def test_the_embedded_model_has_no_list(ada: User) -> None:
    assert "<option" not in get(ada, "list/", htmx=True).content.decode()


def test_lists_are_not_asked_for_without_end(ada: User, anything: None) -> None:
    with Lister(models("a")) as lister:
        at(ada, lister.base_url)
        for _ in range(throttling.MAX_PER_MINUTE["list"] + 3):
            response = get(ada, "list/?again", htmx=True)
        assert len(lister.asked) == throttling.MAX_PER_MINUTE["list"]
        assert "Wait a little." in said(response)


# -- trying ---------------------------------------------------------------------------------------


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Stage() as stage:
        yield stage


@pytest.mark.parametrize("htmx", [True, False])
def test_a_model_that_answers_is_said_to_work(
    ada: User, anything: None, stage: Stage, htmx: bool
) -> None:
    stage.play("m", Script([say("OK")]))
    at(ada, stage.base_url, key=KEY)
    response = post(ada, "test/", htmx=htmx)
    assert "It works. m at 127.0.0.1 answered in" in said(response)
    (asked,) = stage.requests("m")
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body["max_tokens"] == 1
    if not htmx:
        assert problems(response.content.decode()) == []


def test_a_model_is_tried_as_a_run_would_ask_it(ada: User, anything: None, stage: Stage) -> None:
    stage.play("qwen3", Script([say("OK")]))
    at(ada, stage.base_url, "qwen3")
    save(ada, "thinking_enabled", "on")
    assert "It works." in said(post(ada, "test/"))
    (asked,) = stage.requests("qwen3")
    assert asked.body["chat_template_kwargs"] == {"enable_thinking": True}
    assert asked.body["tools"]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("status_400", "refused the request"),
        ("status_401", "refused the API key"),
        ("status_402", "out of credit"),
        ("status_403", "refused the API key"),
        ("status_404", "does not know this model"),
        ("html_page", "web page"),
        ("redirect", "not followed"),
    ],
)
def test_why_a_model_does_not_answer_is_said(
    ada: User, anything: None, stage: Stage, fault: Any, words: str
) -> None:
    stage.play("m", Script([], then=Fault(fault)))
    at(ada, stage.base_url, key=KEY)
    response = post(ada, "test/")
    assert "It does not work." in said(response)
    assert words in said(response)
    assert RAW_DETAIL not in response.content.decode()
    assert KEY not in response.content.decode()


@pytest.fixture
def retries_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As often as ever, without the waits in between."""
    monkeypatch.setattr(client_module, "RetryPolicy", partial(RetryPolicy, first_wait=0.01))


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("status_429", "too many requests"),
        ("status_503", "overloaded"),
        ("empty_stream", "without writing anything"),
        ("truncated_json", "broke"),
        ("garbage_json", "cannot be read"),
        ("close_before_headers", "closed the connection"),
        ("hang_before_headers", "did not answer in time"),
        ("hang", "did not answer in time"),
        ("drip", "did not answer in time"),
    ],
)
def test_a_passing_failure_is_said_after_a_while(
    ada: User,
    anything: None,
    retries_at_once: None,
    stage: Stage,
    fault: Any,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(probe, "PROBE_SECONDS", 4.0 if words != "did not answer in time" else 0.5)
    stage.play("m", Script([], then=Fault(fault)))
    at(ada, stage.base_url)
    assert words in said(post(ada, "test/"))


def test_a_missing_key_is_named_as_the_reason(ada: User, anything: None, stage: Stage) -> None:
    stage.play("m", Script([Fault("status_401")]))
    at(ada, stage.base_url)
    assert "You have not entered a key for it." in said(post(ada, "test/"))


def test_nobody_there_is_said(
    ada: User, anything: None, retries_at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "PROBE_SECONDS", 4.0)
    with refusing_base_url() as base_url:
        at(ada, base_url)
        assert "Check that it is running" in said(post(ada, "test/"))


def test_an_endpoint_without_a_model_is_told_what_is_missing(ada: User, anything: None) -> None:
    at(ada, "http://127.0.0.1:1/v1", "")
    assert "No model is chosen" in said(post(ada, "test/"))


def test_an_own_endpoint_without_an_address_is_told_what_is_missing(
    ada: User, anything: None
) -> None:
    at(ada, "", "m")
    assert "Enter its base URL" in said(post(ada, "test/"))


def test_the_embedded_model_always_works(ada: User) -> None:
    assert "It works. The embedded model" in said(post(ada, "test/"))


def test_trying_has_a_limit(ada: User) -> None:
    for _ in range(throttling.MAX_PER_MINUTE["test"]):
        assert "It works." in said(post(ada, "test/"))
    assert "Not tried." in said(post(ada, "test/"))
    assert post(ada, "test/", htmx=False).status_code == 429
    bob = User.objects.create_user("bob")
    assert "It works." in said(post(bob, "test/"))


def test_a_try_that_is_given_up_is_a_model_error(ada: User, anything: None) -> None:
    """Whoever calls it hears of nothing else."""
    row = chosen(ada)
    row.provider, row.base_url, row.oracle_model = "own", "http://127.0.0.1/v1?x", "m"
    with pytest.raises(ModelError):
        asyncio.run(probe.probe(row))
