"""A link lets one person in, once, within a week."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from agents.models import AuditEntry, Invitation, Membership
from agents.projects import invitations, members, services
from agents.projects.errors import ProjectNotFound, ProjectRefused
from agents.projects.queries import Role, get_role
from tests.agents.projects.people import Team

pytestmark = pytest.mark.django_db


def link(team: Team, role: Role = Role.READER) -> str:
    return invitations.create_invitation(team.project, role, by=team.ada)[1]


def test_a_link_lets_somebody_in_with_its_role() -> None:
    team = Team()
    token = link(team)
    assert invitations.accept_invitation(token, team.eve) == team.project
    assert get_role(team.eve, team.project) == Role.READER


def test_only_a_digest_is_stored() -> None:
    team = Team()
    token = link(team)
    assert token not in str(list(Invitation.objects.values()))


def test_a_link_makes_the_account_of_somebody_new() -> None:
    team = Team()
    user, project = invitations.accept_as_new_user(link(team, Role.MEMBER), "nia", "a long phrase")
    assert project == team.project
    assert User.objects.get(username="nia").check_password("a long phrase")
    assert get_role(user, project) == Role.MEMBER
    assert not user.is_staff


def spend(team: Team, token: str) -> None:
    invitations.accept_invitation(token, team.eve)
    Membership.objects.filter(user=team.eve).delete()


def age(team: Team, token: str) -> None:
    Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))


def create_in_the_future(team: Team, token: str) -> None:
    """The clock ran a day ahead when the link was created."""
    ahead = timezone.now() + timedelta(days=1)
    Invitation.objects.update(created_at=ahead, expires_at=ahead + invitations.LIFETIME)


def revoke(team: Team, token: str) -> None:
    invitations.revoke_invitation(team.project, Invitation.objects.get().pk, by=team.ada)


def delete_the_project(team: Team, token: str) -> None:
    services.delete_project(team.project, by=team.ada)


def remove_its_maker(team: Team, token: str) -> None:
    add_owner(team)
    members.remove_member(team.project, team.ada, by=team.bob)


def demote_its_maker(team: Team, token: str) -> None:
    add_owner(team)
    members.change_role(team.project, team.ada, Role.MEMBER, by=team.bob)


def delete_its_maker(team: Team, token: str) -> None:
    team.ada.delete()


def close_the_account_of_its_maker(team: Team, token: str) -> None:
    User.objects.filter(pk=team.ada.pk).update(is_active=False)


def add_owner(team: Team) -> None:
    members.change_role(team.project, team.bob, Role.OWNER, by=team.ada)


@pytest.mark.parametrize(
    "event",
    [
        spend,
        age,
        create_in_the_future,
        revoke,
        delete_the_project,
        remove_its_maker,
        demote_its_maker,
        delete_its_maker,
        close_the_account_of_its_maker,
    ],
)
def test_a_link_that_was_used_is_old_was_revoked_or_leads_nowhere_lets_nobody_in(
    event: object,
) -> None:
    team = Team()
    token = link(team)
    event(team, token)  # type: ignore[operator]
    with pytest.raises(ProjectNotFound) as refusal:
        invitations.accept_invitation(token, team.eve)
    assert str(refusal.value) == invitations.SPENT_MESSAGE
    with pytest.raises(ProjectNotFound):
        invitations.accept_as_new_user(token, "nia", "a long phrase")
    assert not User.objects.filter(username="nia").exists()
    assert not Membership.objects.filter(user=team.eve).exists()


def test_an_owner_who_was_removed_does_not_come_back_by_a_link_of_their_own() -> None:
    team = Team()
    mine = link(team, Role.OWNER)
    add_owner(team)
    theirs = invitations.create_invitation(team.project, Role.READER, by=team.bob)[1]
    members.remove_member(team.project, team.ada, by=team.bob)
    with pytest.raises(ProjectNotFound):
        invitations.accept_invitation(mine, team.ada)
    assert get_role(team.ada, team.project) is None
    assert invitations.accept_invitation(theirs, team.eve) == team.project
    assert AuditEntry.objects.filter(detail__did="revoke").count() == 1


def test_who_stays_an_owner_keeps_their_links_elsewhere() -> None:
    team = Team()
    other = services.create_project(team.ada, "Other")
    token = invitations.create_invitation(other, Role.READER, by=team.ada)[1]
    add_owner(team)
    members.remove_member(team.project, team.ada, by=team.bob)
    assert invitations.accept_invitation(token, team.eve) == other


@pytest.mark.parametrize("token", ["", "x", "\0", "\ud800", "é" * 10_000])
def test_a_link_that_never_was_is_as_one_that_was_used(token: str) -> None:
    with pytest.raises(ProjectNotFound):
        invitations.get_invitation(token)


def test_a_member_does_not_use_a_link_up() -> None:
    team = Team()
    token = link(team)
    with pytest.raises(ProjectRefused, match="already"):
        invitations.accept_invitation(token, team.bob)
    assert invitations.accept_invitation(token, team.eve) == team.project


def test_a_link_of_another_project_cannot_be_revoked() -> None:
    team = Team()
    link(team)
    other = services.create_project(team.eve, "Other")
    with pytest.raises(ProjectNotFound):
        invitations.revoke_invitation(other, Invitation.objects.get().pk, by=team.eve)


def test_a_project_has_so_many_open_links_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invitations, "MAX_OPEN", 1)
    team = Team()
    token = link(team)
    with pytest.raises(ProjectRefused, match="Revoke one"):
        link(team)
    invitations.accept_invitation(token, team.eve)
    assert link(team)
