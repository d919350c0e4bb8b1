"""Owners add, change and remove people, and make links; everybody may leave."""

import re

import pytest

from agents.models import Invitation, Membership
from agents.projects.queries import Role, get_role
from tests.agents.projects.people import Team
from tests.chat.factories import browser

pytestmark = pytest.mark.django_db


def test_an_owner_adds_changes_and_removes_somebody() -> None:
    team = Team()
    client = browser(team.ada)
    client.post("/p/engine/members/add/", {"name": "eve", "role": "reader"})
    assert get_role(team.eve, team.project) == Role.READER
    client.post("/p/engine/members/role/", {"person": team.eve.pk, "role": "member"})
    assert get_role(team.eve, team.project) == Role.MEMBER
    client.post("/p/engine/members/remove/", {"person": team.eve.pk})
    assert get_role(team.eve, team.project) is None


@pytest.mark.parametrize(
    "given",
    [
        {"name": "nobody", "role": "member"},
        {"name": "bob", "role": "member"},
        {"name": "eve", "role": "administrator"},
        {"name": "eve"},
        {"name": "\0", "role": "member"},
    ],
)
def test_what_cannot_be_added_is_refused_with_a_sentence(given: dict[str, str]) -> None:
    team = Team()
    answer = browser(team.ada).post("/p/engine/members/add/", given)
    assert answer.status_code == 422
    assert 'id="person-error"' in answer.content.decode()
    assert Membership.objects.count() == 3


@pytest.mark.parametrize("person", ["0", "x", "", "9" * 30, "٣"])
def test_somebody_who_is_not_in_it_is_not_found(person: str) -> None:
    team = Team()
    answer = browser(team.ada).post("/p/engine/members/remove/", {"person": person})
    assert answer.status_code == 404


def test_the_last_owner_is_told_what_to_do_first() -> None:
    team = Team()
    client = browser(team.ada)
    page = client.post("/p/engine/leave/", follow=True)
    assert "Make somebody else an owner first" in page.content.decode()
    assert get_role(team.ada, team.project) == Role.OWNER
    client.post("/p/engine/members/role/", {"person": team.bob.pk, "role": "owner"})
    page = client.post("/p/engine/leave/", follow=True)
    assert page.redirect_chain[-1][0] == "/projects/"
    assert get_role(team.ada, team.project) is None


def test_a_link_is_shown_once_listed_and_revoked() -> None:
    team = Team()
    client = browser(team.ada)
    answer = client.post("/p/engine/links/create/", {"role": "reader"})
    found = re.search(r"https://testserver(/invite/[\w-]+/)", answer.content.decode())
    assert found is not None
    page = client.get("/p/engine/settings/").content.decode()
    assert found[1] not in page
    assert "made by ada" in page
    client.post("/p/engine/links/revoke/", {"link": Invitation.objects.get().pk})
    assert browser(team.eve).get(found[1]).status_code == 410


def test_a_forged_role_makes_no_link() -> None:
    team = Team()
    answer = browser(team.ada).post("/p/engine/links/create/", {"role": "superuser"})
    assert answer.status_code == 422
    assert not Invitation.objects.exists()
