"""The agent's page: what a save, a refusal, a conflict and a reset answer."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, reverse

from agents.core.config import LIMITS
from agents.models import SettingChange, UserAgentConfig
from agents.settings_service import update_limits
from settings_ui.urls import urlpatterns
from tests.agents.models.factories import ada as make_ada
from tests.settings_ui.input_cases import browser, stored
from tests.support.pages import Page, problems

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}
VARIABLES = {"name": "max_iterations", "number": 1, "rule_id": "1", "text_id": "1"}


def _named(pattern: URLPattern) -> dict[str, Any]:
    return {name: VARIABLES[name] for name in pattern.pattern.converters}


PAGES = [
    "/settings/", "/settings/appearance/", "/settings/data/", "/settings/tokens/",
    "/settings/changes/", "/usage/",
]  # fmt: skip


@pytest.fixture
def ada() -> User:
    user = make_ada()
    UserAgentConfig.for_user(user)
    return user


def post(user: User, path: str, given: Any = None, *, htmx: bool = True) -> Any:
    headers = HTMX if htmx else {}
    return browser(user).post(f"/settings/{path}", given or {}, secure=True, headers=headers)


def save(user: User, name: str, value: str, **more: Any) -> Any:
    htmx = more.pop("htmx", True)
    return post(user, f"limits/{name}/", {"value": value, **more}, htmx=htmx)


def said(response: Any) -> str:
    return Page(response.content.decode()).text()


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_well_formed_and_leads_to_the_others(ada: User, path: str) -> None:
    response = browser(ada).get(path, secure=True)
    assert response.status_code == 200
    assert problems(html := response.content.decode()) == []
    for other in PAGES:
        assert f'href="{other}"' in html
    assert 'aria-current="page"' in html
    assert "no-store" in response["Cache-Control"]


ADDRESSES = {
    "usage": {},
    "export-everything": {},
    **{pattern.name: _named(pattern) for pattern in urlpatterns},
}
"""Every address of the settings, by name, with something in the place of its variables."""


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("name", ADDRESSES)
def test_whoever_is_not_signed_in_is_asked_to(name: str, method: str) -> None:
    address = reverse(name, kwargs=ADDRESSES[name])
    response = getattr(Client(), method)(address, secure=True)
    assert response["Location"] == f"/sign-in/?next={address}"


def test_a_save_stores_the_value_and_says_when(ada: User) -> None:
    response = save(ada, "max_iterations", "10", seen="15")
    assert response.status_code == 200
    assert "Saved" in said(response)
    assert UserAgentConfig.for_user(ada).max_iterations == 10
    (change,) = SettingChange.objects.all()
    assert (change.user, change.by, change.old, change.new) == (ada, ada, "15", "10")


def test_a_save_answers_with_what_the_limits_mean_together_now(ada: User) -> None:
    assert "About 7 iterations before the first warning" in said(save(ada, "max_iterations", "10"))


def test_a_number_with_commas_is_read_as_people_write_it(ada: User) -> None:
    assert save(ada, "token_budget", " 60,000 ").status_code == 200
    assert UserAgentConfig.for_user(ada).token_budget == 60_000


def test_a_refused_value_is_422_with_what_is_in_force(ada: User) -> None:
    before = stored(ada)
    response = save(ada, "max_iterations", "0", seen="15")
    assert response.status_code == 422
    text = said(response)
    assert "Not saved. Must be a whole number from 1 to 50. Still using 15." in text
    assert stored(ada) == before


def test_what_another_tab_changed_is_409_with_both_ways_out(ada: User) -> None:
    update_limits(ada, {"max_iterations": 20})
    before = stored(ada)
    response = save(ada, "max_iterations", "10", seen="15")
    assert response.status_code == 409
    text = said(response)
    for words in ("Changed elsewhere to 20.", "Use 20", "Keep mine"):
        assert words in text
    assert stored(ada) == before


def test_keep_mine_sends_what_was_told_and_is_saved(ada: User) -> None:
    update_limits(ada, {"max_iterations": 20})
    seen = Page(save(ada, "max_iterations", "10", seen="15").content.decode()).all("input")
    assert [at["value"] for at in seen if at["name"] == "seen"] == ["20"]
    assert save(ada, "max_iterations", "10", seen="20").status_code == 200


def test_a_change_of_another_setting_is_no_conflict(ada: User) -> None:
    update_limits(ada, {"token_budget": 60_000})
    assert save(ada, "max_iterations", "10", seen="15").status_code == 200


def test_the_same_save_sent_twice_is_no_conflict(ada: User) -> None:
    for _ in range(2):
        assert save(ada, "max_iterations", "10", seen="15").status_code == 200
    assert SettingChange.objects.count() == 1


@pytest.mark.parametrize("seen", ["x", "", "1.5", "[15]", "9" * 5_000])
def test_a_form_that_shows_what_it_cannot_have_seen_is_stale(ada: User, seen: str) -> None:
    before = stored(ada)
    assert save(ada, "max_iterations", "10", seen=seen).status_code == 409
    assert stored(ada) == before


@pytest.mark.parametrize(
    "given",
    [{}, {"value[]": "10"}, {"value": ["10", "11"]}, {"max_iterations": "10"}],
    ids=["nothing", "array", "twice", "another name"],
)
def test_what_is_not_one_value_is_refused(ada: User, given: Any) -> None:
    before = stored(ada)
    assert post(ada, "limits/max_iterations/", given).status_code == 422
    assert stored(ada) == before


@pytest.mark.parametrize(
    "name", ["max_dreams", "version", "user", "id", "updated_at", "MAX_ITERATIONS"]
)
def test_an_unknown_setting_is_not_there(ada: User, name: str) -> None:
    before = stored(ada)
    for path in (f"limits/{name}/", f"limits/{name}/reset/"):
        assert post(ada, path, {"value": "10"}).status_code == 404
    assert stored(ada) == before


def test_a_form_without_a_token_against_forgery_is_refused(ada: User) -> None:
    before = stored(ada)
    client = browser(ada, enforce_csrf_checks=True)
    for path in ("limits/max_iterations/", "limits/max_iterations/reset/", "reset/", "appearance/"):
        response = client.post(f"/settings/{path}", {"value": "10"}, secure=True)
        assert response.status_code == 403
        assert "Traceback" not in response.content.decode()
    assert stored(ada) == before


def test_nobody_changes_the_settings_of_somebody_else(ada: User) -> None:
    eve = User.objects.create_superuser("eve")
    before = stored(ada)
    given = {"value": "3", "user": str(ada.pk), "user_id": str(ada.pk)}
    assert post(eve, "limits/max_iterations/", given).status_code == 200
    post(eve, "reset/")
    assert stored(ada) == before
    assert UserAgentConfig.for_user(eve).max_iterations == 15


def test_a_form_whose_user_was_signed_out_hears_401_and_no_page(ada: User) -> None:
    before = stored(ada)
    address = "/settings/limits/max_iterations/"
    response = Client().post(address, {"value": "10"}, secure=True, headers=HTMX)
    assert (response.status_code, response.content) == (401, b"")
    assert stored(ada) == before


def test_a_choice_is_reset_in_few_words_whatever_its_default_is_called(ada: User) -> None:
    response = save(ada, "ask_before_writing", "always", seen="never")
    assert "Reset to default" in " ".join(response.content.decode().split())


def test_a_reset_gives_the_form_with_the_default(ada: User) -> None:
    update_limits(ada, {"max_iterations": 20})
    response = post(ada, "limits/max_iterations/reset/")
    page = Page(response.content.decode())
    assert [at["value"] for at in page.all("input") if at.get("id") == "max_iterations"] == ["15"]
    assert "Reset to" not in page.text()
    assert UserAgentConfig.for_user(ada).max_iterations == 15


def test_a_reset_of_all_gives_every_default(ada: User) -> None:
    update_limits(ada, {name: limit.minimum for name, limit in LIMITS.items()})
    save(ada, "default_tree", "quick")
    assert post(ada, "reset/", htmx=False)["Location"] == "/settings/"
    row = UserAgentConfig.for_user(ada)
    assert {name: getattr(row, name) for name in LIMITS} == {
        name: limit.default for name, limit in LIMITS.items()
    }
    assert row.default_tree == ""


def test_use_theirs_is_the_form_as_it_is_stored(ada: User) -> None:
    update_limits(ada, {"max_iterations": 20})
    address = "/settings/limits/max_iterations/"
    page = Page(browser(ada).get(address, secure=True, headers=HTMX).content.decode())
    assert [at["value"] for at in page.all("input") if at.get("id") == "max_iterations"] == ["20"]


# -- without JavaScript ---------------------------------------------------------------------------


def test_without_script_a_save_leads_back_to_the_page_which_says_so(ada: User) -> None:
    client = browser(ada)
    given = {"value": "10", "seen": "15"}
    address = "/settings/limits/max_iterations/"
    assert client.post(address, given, secure=True)["Location"] == "/settings/"
    assert "Max iterations: 10 is saved." in said(client.get("/settings/", secure=True))


def test_without_script_a_refused_value_stays_in_its_field_on_the_page(ada: User) -> None:
    response = save(ada, "max_iterations", "51", htmx=False)
    assert response.status_code == 422
    html = response.content.decode()
    assert problems(html) == []
    page = Page(html)
    (field,) = [at for at in page.all("input") if at.get("id") == "max_iterations"]
    assert (field["value"], field["aria-invalid"]) == ("51", "true")
    assert "Still using 15." in page.text()


def test_without_script_a_conflict_is_told_on_the_page(ada: User) -> None:
    update_limits(ada, {"max_iterations": 20})
    response = save(ada, "max_iterations", "10", seen="15", htmx=False)
    assert response.status_code == 409
    assert problems(response.content.decode()) == []


def test_what_is_very_long_does_not_come_back_whole(ada: User) -> None:
    response = save(ada, "max_iterations", "9" * 10_000, htmx=False)
    assert response.content.count(b"9") < 1_000


def test_markup_that_was_typed_stays_text(ada: User) -> None:
    html = save(ada, "max_iterations", '"><script>alert(1)</script>', htmx=False).content.decode()
    assert problems(html) == []
    assert "<script>alert" not in html


# -- the mode -------------------------------------------------------------------------------------


def test_the_mode_is_chosen_from_the_known_trees(ada: User) -> None:
    assert save(ada, "default_tree", "quick", seen="").status_code == 200
    assert UserAgentConfig.for_user(ada).tree == "quick"


@pytest.mark.parametrize(
    "typed", ["nonsense", "QUICK", "quick ", "\x00", "x" * 10_000, "['quick']"]
)
def test_an_unknown_mode_is_refused_with_those_there_are(ada: User, typed: str) -> None:
    before = stored(ada)
    response = save(ada, "default_tree", typed, seen="")
    assert response.status_code == 422
    assert "Choose one of these:" in said(response)
    assert stored(ada) == before


def test_a_stored_mode_of_a_package_that_is_gone_is_shown_and_can_be_left(ada: User) -> None:
    UserAgentConfig.objects.update(default_tree="gone")
    response = browser(ada).get("/settings/", secure=True)
    options = Page(response.content.decode()).all("option")
    assert {"value": "gone", "selected": ""} in options
    assert save(ada, "default_tree", "quick", seen="gone").status_code == 200


def test_a_mode_that_is_gone_blocks_nothing_else(ada: User) -> None:
    UserAgentConfig.objects.update(default_tree="gone")
    assert save(ada, "max_iterations", "10").status_code == 200
    assert UserAgentConfig.for_user(ada).default_tree == "gone"
