"""The theme: chosen here, worn by every page."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client, RequestFactory
from pytest_django import DjangoAssertNumQueries

from agents.models import Appearance
from settings_ui.context_processors import theme
from tests.agents.models.factories import ada as make_ada
from tests.settings_ui.input_cases import browser
from tests.support.pages import Page

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def ada() -> User:
    return make_ada()


def choose(user: User, value: str, **more: Any) -> Any:
    return browser(user).post(
        "/settings/appearance/", {"value": value, **more}, secure=True, headers=HTMX
    )


def worn(user: User, path: str) -> str:
    (html,) = Page(browser(user).get(path, secure=True).content.decode()).all("html")
    return html.get("data-theme", "")


@pytest.mark.parametrize("value", ["light", "dark"])
def test_a_theme_is_worn_by_every_page(ada: User, value: str) -> None:
    assert choose(ada, value).status_code == 200
    for path in ("/settings/", "/runs/", "/usage/", "/nothing/"):
        assert worn(ada, path) == value


def test_as_the_system_leaves_it_to_the_browser(ada: User) -> None:
    choose(ada, "dark")
    choose(ada, "")
    assert worn(ada, "/settings/") == ""


@pytest.mark.parametrize("value", ["sepia", "DARK", "dark ", "\x00", "x" * 10_000])
def test_an_unknown_theme_is_refused_and_the_old_one_kept(ada: User, value: str) -> None:
    choose(ada, "dark")
    response = choose(ada, value)
    assert response.status_code == 422
    assert "Still using: Dark." in response.content.decode()
    assert Appearance.for_user(ada).theme == "dark"


def test_without_script_the_page_comes_back_in_the_new_theme(ada: User) -> None:
    client = browser(ada)
    answer = client.post("/settings/appearance/", {"value": "dark"}, secure=True)
    assert answer["Location"] == "/settings/appearance/"
    assert worn(ada, "/settings/appearance/") == "dark"


def test_without_script_a_refused_theme_is_told_on_the_page(ada: User) -> None:
    client = browser(ada)
    answer = client.post("/settings/appearance/", {"value": "sepia"}, secure=True)
    assert answer.status_code == 422
    assert "Choose one of these" in answer.content.decode()


def test_a_stranger_wears_none() -> None:
    (html,) = Page(Client().get("/sign-in/", secure=True).content.decode()).all("html")
    assert "data-theme" not in html


def test_nothing_is_asked_of_the_database_unless_a_page_wants_to_know(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    with django_assert_num_queries(0):
        theme(RequestFactory().get("/"))
