"""The page of a link: join, or make the account first. There is no other way to sign up."""

import pytest
from django.contrib.auth.models import User

from agents.projects import invitations, members, services
from agents.projects.queries import Role, get_role
from chat.accounts.login_throttle import MAX_FAILURES
from tests.agents.projects.people import Team
from tests.chat.factories import browser
from tests.support.pages import problems

pytestmark = pytest.mark.django_db
GOOD = {"username": "nia", "password1": "violet harbour 9", "password2": "violet harbour 9"}


def address(team: Team, role: Role = Role.READER) -> str:
    return f"/invite/{invitations.create_invitation(team.project, role, by=team.ada)[1]}/"


def test_somebody_new_makes_an_account_and_is_in() -> None:
    team, client = Team(), browser()
    link = address(team)
    page = client.get(link)
    text = page.content.decode()
    assert problems(text) == []
    assert "Join Engine" in text
    assert "sign in" in text
    assert page.headers["Referrer-Policy"] == "same-origin"
    page = client.post(link, GOOD, follow=True)
    assert page.redirect_chain[0][0] == "/p/engine/"
    user = User.objects.get(username="nia")
    assert page.wsgi_request.user == user
    assert get_role(user, team.project) == Role.READER
    assert not user.is_staff
    assert not user.is_superuser
    assert browser().get(link).status_code == 410
    assert browser().post(link, {**GOOD, "username": "second"}).status_code == 410
    assert not User.objects.filter(username="second").exists()


def test_whoever_is_signed_in_joins_with_one_click() -> None:
    team = Team()
    client = browser(team.eve)
    link = address(team, Role.MEMBER)
    page = client.get(link).content.decode()
    assert "signed in as <strong>eve</strong>" in page
    assert client.post(link).headers["Location"] == "/p/engine/"
    assert get_role(team.eve, team.project) == Role.MEMBER


def test_a_member_is_told_so_and_the_link_stays_good() -> None:
    team = Team()
    link = address(team)
    answer = browser(team.bob).post(link, {"role": "owner"})
    assert answer.status_code == 409
    assert "already" in answer.content.decode()
    assert get_role(team.bob, team.project) == Role.MEMBER
    assert browser(team.eve).post(link).status_code == 302


def test_the_role_is_the_links_whatever_the_form_says() -> None:
    team = Team()
    browser(team.eve).post(address(team), {"role": "owner"})
    assert get_role(team.eve, team.project) == Role.READER


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"username": "ada"}, "This name is taken"),
        ({"username": "ADA"}, "This name is taken"),
        ({"username": "a b<script>"}, "valid username"),
        ({"username": "x" * 151}, "150"),
        ({"password1": "short", "password2": "short"}, "too short"),
        ({"password1": "1234567890123", "password2": "1234567890123"}, "numeric"),
        ({"password2": "something else"}, "match"),
    ],
)
def test_a_bad_name_or_password_is_refused_with_the_reason_and_the_link_stays_good(
    changed: dict[str, str], said: str
) -> None:
    team, client = Team(), browser()
    link = address(team)
    answer = client.post(link, {**GOOD, **changed})
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert client.post(link, GOOD).status_code == 302


def test_attempts_with_one_link_are_counted_as_sign_ins_are() -> None:
    team, client = Team(), browser()
    link = address(team)
    for _ in range(MAX_FAILURES):
        assert client.post(link, {**GOOD, "password2": "x"}).status_code == 422
    answer = client.post(link, GOOD)
    assert answer.status_code == 429
    assert answer.headers["Retry-After"]
    assert not User.objects.filter(username="nia").exists()


@pytest.mark.parametrize("is_signed_in", [True, False])
def test_a_link_into_an_archived_project_is_refused_and_stays_good(is_signed_in: bool) -> None:
    team = Team()
    client, link = browser(team.eve if is_signed_in else None), address(team)
    services.archive_project(team.project, by=team.ada)
    for response in (client.get(link), client.post(link, GOOD)):
        assert response.status_code == 409
        text = response.content.decode()
        assert "This project is archived" in text
        assert "Ask an owner to unarchive it" in text
        assert "<button" not in text.partition("<main")[2]
        assert problems(text) == []
    assert get_role(team.eve, team.project) is None
    assert not User.objects.filter(username="nia").exists()
    services.unarchive_project(team.project, by=team.ada)
    assert client.post(link, GOOD).headers["Location"] == "/p/engine/"


def test_a_new_account_for_a_full_project_is_refused_and_not_created(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    team, client = Team(), browser()
    link = address(team)
    monkeypatch.setattr(members, "MAX_MEMBERS", 3)
    response = client.post(link, GOOD)
    assert response.status_code == 409
    assert "may have 3 members" in response.content.decode()
    assert not User.objects.filter(username="nia").exists()
    monkeypatch.undo()
    assert client.post(link, GOOD).status_code == 302


def test_a_link_of_a_deleted_project_lets_nobody_in() -> None:
    team = Team()
    link = address(team)
    services.delete_project(team.project, by=team.ada)
    assert browser().get(link).status_code == 410
    assert browser(team.eve).post(link).status_code == 410


@pytest.mark.parametrize("token", ["x", "%00", "%E2%80%AE", "a" * 4_000, "..", "%2e%2e"])
def test_an_address_that_was_never_given_out_is_as_a_spent_one(token: str) -> None:
    assert browser().get(f"/invite/{token}/").status_code in (404, 410)
