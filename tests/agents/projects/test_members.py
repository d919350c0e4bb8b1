"""Owners say who is in; when membership ends, so do runs."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from agents.models import AgentRun, AuditEntry, Departure, Membership, SiteSettings
from agents.projects import members, services
from agents.projects.access import access_changed
from agents.projects.errors import ProjectNotFound, ProjectRefused
from agents.projects.queries import Role, get_role
from tests.agents.models.factories import run_of
from tests.agents.projects.people import Team, person

pytestmark = pytest.mark.django_db


def test_people_are_found_by_their_name() -> None:
    ada = person("ada")
    assert members.find_person(" ada ") == ada
    User.objects.update(is_active=False)
    with pytest.raises(ProjectRefused, match="no user with that name"):
        members.find_person("ada")


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800", "<b>", "x" * 5_000, "ad%"])
def test_odd_names_are_of_nobody(name: str) -> None:
    person("ada")
    with pytest.raises(ProjectRefused):
        members.find_person(name)


def test_somebody_is_added_once_and_it_is_recorded_without_their_name() -> None:
    team = Team()
    members.add_member(team.project, team.eve, Role.READER, by=team.ada)
    assert get_role(team.eve, team.project) == Role.READER
    with pytest.raises(ProjectRefused, match="already"):
        members.add_member(team.project, team.eve, Role.OWNER, by=team.ada)
    assert get_role(team.eve, team.project) == Role.READER
    entry = AuditEntry.objects.filter(verb="member").get()
    assert (entry.by, entry.detail["did"], entry.detail["role"]) == (team.ada, "add", "reader")
    assert "eve" not in str(entry.detail)


def test_the_last_owner_neither_leaves_nor_becomes_something_else() -> None:
    team = Team()
    with pytest.raises(ProjectRefused, match="needs an owner"):
        members.remove_member(team.project, team.ada, by=team.ada)
    with pytest.raises(ProjectRefused, match="needs an owner"):
        members.change_role(team.project, team.ada, Role.MEMBER, by=team.ada)
    members.change_role(team.project, team.bob, Role.OWNER, by=team.ada)
    members.remove_member(team.project, team.ada, by=team.ada)
    assert get_role(team.ada, team.project) is None


def test_the_runs_of_whoever_is_removed_are_asked_to_stop_and_others_are_not(
    django_capture_on_commit_callbacks: Any,
) -> None:
    team = Team()
    own, others = run_of(team.bob, team.project), run_of(team.rae, team.project)
    elsewhere = run_of(team.bob, services.create_project(team.bob, "Own"))
    heard: list[dict[str, Any]] = []

    def hear(**told: Any) -> None:
        heard.append(told)

    access_changed.connect(hear)
    with django_capture_on_commit_callbacks(execute=True):
        members.remove_member(team.project, team.bob, by=team.ada)
        assert heard == []
    access_changed.disconnect(hear)
    own.refresh_from_db()
    assert own.cancel_note == "You are no longer a member of this project."
    untouched = AgentRun.objects.filter(cancel_requested_at__isnull=True)
    assert set(untouched) == {others, elsewhere}
    assert [(told["project_id"], told["run_ids"]) for told in heard] == [
        (team.project.pk, [own.pk])
    ]


def test_who_becomes_a_reader_keeps_no_run_that_may_write() -> None:
    team = Team()
    run = run_of(team.bob, team.project)
    members.change_role(team.project, team.bob, Role.OWNER, by=team.ada)
    run.refresh_from_db()
    assert run.cancel_requested_at is None
    members.change_role(team.project, team.bob, Role.READER, by=team.ada)
    run.refresh_from_db()
    assert run.cancel_note == "You became a reader of this project."


def test_only_members_have_a_role_to_change_or_to_end() -> None:
    team = Team()
    with pytest.raises(ProjectNotFound):
        members.change_role(team.project, team.eve, Role.OWNER, by=team.ada)
    with pytest.raises(ProjectNotFound):
        members.remove_member(team.project, team.eve, by=team.ada)


def test_newcomers_come_into_the_default_project_once() -> None:
    team = Team()
    assert members.welcome(team.eve) is None
    SiteSettings.objects.create(pk=1, default_project=team.project, default_role=Role.READER)
    assert members.welcome(team.eve) == team.project
    assert get_role(team.eve, team.project) == Role.READER
    members.remove_member(team.project, team.eve, by=team.ada)
    assert members.welcome(team.eve) is None
    assert get_role(team.eve, team.project) is None


def test_who_was_in_somebody_elses_project_comes_into_the_default_project_all_the_same() -> None:
    team, removed, bereft = Team(), person("removed"), person("bereft")
    SiteSettings.objects.create(pk=1, default_project=team.project)
    other = services.create_project(team.eve, "Other")
    for newcomer in (removed, bereft):
        members.add_member(other, newcomer, Role.READER, by=team.eve)
        assert members.first_project_for(newcomer) == other
    members.remove_member(other, removed, by=team.eve)
    services.delete_project(other, by=team.eve)
    assert members.first_project_for(removed) == team.project
    assert members.first_project_for(bereft) == team.project
    members.remove_member(team.project, removed, by=team.ada)
    assert members.first_project_for(removed) is None


def test_who_was_removed_before_it_was_known_from_where_comes_into_no_project() -> None:
    team, removed = Team(), person("removed")
    SiteSettings.objects.create(pk=1, default_project=team.project)
    Departure.objects.create(user=removed, project=None)
    assert members.welcome(removed) is None


def test_the_default_project_is_not_given_to_people_who_have_one_nor_once_it_is_deleted() -> None:
    team, newcomer = Team(), person("new")
    services.create_project(team.eve, "Own")
    SiteSettings.objects.create(pk=1, default_project=team.project)
    assert members.welcome(team.eve) is None
    services.delete_project(team.project, by=team.ada)
    assert members.welcome(newcomer) is None
    assert Membership.objects.filter(user=newcomer).count() == 0
