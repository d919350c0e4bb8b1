"""Tokens: shown once, listed by their beginning, revoked for good."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from agents.models import ApiToken, SettingChange
from agents.models.api_tokens import MAX_API_TOKENS
from tests.agents.models.factories import ada as make_ada
from tests.settings_ui.input_cases import browser
from tests.support.pages import Page, problems

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    return make_ada()


def create(user: User, **given: Any) -> Any:
    return browser(user).post("/settings/tokens/", given, secure=True)


def listed(user: User) -> str:
    html = browser(user).get("/settings/tokens/", secure=True).content.decode()
    assert problems(html) == []
    return Page(html).text()


def test_a_token_is_shown_once_and_works(ada: User) -> None:
    response = create(ada, name="Backup", scopes=["ask", "read"])
    html = response.content.decode()
    assert problems(html) == []
    (text,) = [at["value"] for at in Page(html).all("input") if at.get("id") == "token"]
    found = ApiToken.authenticate(text)
    assert found is not None
    assert (found.user, found.name, found.scopes) == (ada, "Backup", ["ask", "read"])
    assert "no-store" in response["Cache-Control"]
    page = listed(ada)
    assert text not in page
    assert f"{text[:11]}…" in page
    assert "May: ask, read" in page
    assert "Never used" in page


def test_a_token_that_was_used_says_when(ada: User) -> None:
    token, _ = ApiToken.issue(ada, "Backup", ["read"])
    token.touch()
    assert "Last used" in listed(ada)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": "x"}, "Choose at least one of: ask, read, settings, projects."),
        ({"name": "x", "scopes": ["all"]}, "Choose at least one of"),
        ({"name": "x", "scopes": ["ask", "admin"]}, "Choose at least one of"),
        ({"name": "", "scopes": ["ask"]}, "Give it a name."),
        ({"name": " \n\t", "scopes": ["ask"]}, "Give it a name."),
        ({"name": "n" * 81, "scopes": ["ask"]}, "at most 80 characters"),
        ({}, "Give it a name."),
    ],
)
def test_what_makes_no_token_is_refused_in_words(ada: User, given: Any, words: str) -> None:
    response = create(ada, **given)
    html = response.content.decode()
    assert response.status_code == 422
    assert ApiToken.objects.count() == 0
    assert problems(html) == []
    assert words in Page(html).text()


def test_a_form_sent_twice_makes_one_token(ada: User) -> None:
    assert create(ada, name="Backup", scopes=["ask"]).status_code == 200
    assert create(ada, name="Backup", scopes=["ask"]).status_code == 422
    assert ApiToken.objects.count() == 1


def test_there_are_only_so_many(ada: User) -> None:
    for number in range(MAX_API_TOKENS):
        ApiToken.issue(ada, f"n{number}", ["ask"])
    response = create(ada, name="one more", scopes=["ask"])
    assert response.status_code == 422
    assert f"You have {MAX_API_TOKENS} tokens. Revoke one first." in response.content.decode()


def test_a_revoked_token_is_refused_and_stays_listed_as_such(ada: User) -> None:
    token, text = ApiToken.issue(ada, "Backup", ["ask"])
    address = f"/settings/tokens/{token.pk}/revoke/"
    client = browser(ada)
    assert client.post(address, secure=True)["Location"] == "/settings/tokens/"
    assert ApiToken.authenticate(text) is None
    assert "You have no tokens." in listed(ada)
    assert "Revoked in the last 30 days Backup" in listed(ada)
    assert client.post(address, secure=True).status_code == 404


def test_nobody_sees_or_revokes_the_token_of_somebody_else(ada: User) -> None:
    eve = User.objects.create_superuser("eve")
    token, text = ApiToken.issue(ada, "Backup", ["ask"])
    assert "Backup" not in listed(eve)
    answer = browser(eve).post(f"/settings/tokens/{token.pk}/revoke/", secure=True)
    assert answer.status_code == 404
    assert ApiToken.authenticate(text) is not None


def test_making_and_revoking_is_recorded_without_the_token(ada: User) -> None:
    create(ada, name="Backup", scopes=["ask"])
    token = ApiToken.objects.get()
    browser(ada).post(f"/settings/tokens/{token.pk}/revoke/", secure=True)
    said = f"Backup ({token.beginning}…): ask"
    changes = list(SettingChange.objects.order_by("pk").values_list("name", "old", "new"))
    assert changes == [("api_token", "", said), ("api_token", said, "")]


def test_markup_in_a_name_stays_text(ada: User) -> None:
    create(ada, name="<img src=x onerror=alert(1)>", scopes=["ask"])
    assert "<img src=x onerror=alert(1)>" in listed(ada)
