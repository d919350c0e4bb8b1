"""What a person can reach is decided in one place, and nobody else decides it."""

import re
from pathlib import Path

import pytest

from agents.models import Project
from agents.projects import queries, services
from agents.projects.errors import ProjectForbidden, ProjectNotFound, ProjectRefused
from agents.projects.queries import Role
from tests.agents.models.factories import run_of
from tests.agents.projects.people import Team

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).parents[3]
DECIDES = re.compile(
    r"Membership\.objects|\bmemberships__|(filter|get|exclude)\(members=|__members\b"
    r"|\.memberships\b|project\.members\b|user\.projects\b"
)
DECIDERS = {
    "agents/projects/queries.py",
    "agents/projects/access.py",
    "agents/projects/members.py",
    "agents/projects/services.py",
}
"""The one that decides, and those that change who is in."""


def test_nobody_else_looks_at_memberships() -> None:
    found = {
        str(path.relative_to(ROOT))
        for app in ("agents", "chat", "settings_ui", "oracle_site")
        for path in (ROOT / app).rglob("*.py")
        if "migrations" not in path.parts and DECIDES.search(path.read_text())
    }
    assert found <= DECIDERS


def test_people_reach_the_projects_they_are_in() -> None:
    team = Team()
    for user in (team.ada, team.bob, team.rae):
        assert list(queries.projects_for(user)) == [team.project]
        assert queries.get_project(user, team.project.pk) == team.project
        assert queries.get_project(user, "engine") == team.project
    assert not queries.projects_for(team.eve).exists()


@pytest.mark.parametrize("key", ["engine", "nothing", "\0", "e" * 10_000, "'; DROP TABLE x; --"])
def test_what_is_not_theirs_and_what_is_not_there_look_the_same(key: str) -> None:
    team = Team()
    with pytest.raises(ProjectNotFound) as refusal:
        queries.get_project(team.eve, key)
    assert str(refusal.value) == queries.NO_PROJECT_MESSAGE


@pytest.mark.parametrize(
    ("name", "role", "writes", "manages"),
    [
        ("ada", Role.OWNER, True, True),
        ("bob", Role.MEMBER, True, False),
        ("rae", Role.READER, False, False),
        ("eve", None, False, False),
    ],
)
def test_a_role_says_what_one_may_do(
    name: str, role: Role | None, writes: bool, manages: bool
) -> None:
    team = Team()
    user = getattr(team, name)
    assert queries.get_role(user, team.project) == role
    assert queries.can_write(user, team.project) is writes
    assert queries.can_manage(user, team.project) is manages


def test_a_greater_role_is_asked_for_by_name() -> None:
    team = Team()
    with pytest.raises(ProjectForbidden, match="Only an owner"):
        queries.get_project(team.bob, "engine", at_least=Role.OWNER)
    with pytest.raises(ProjectForbidden, match="You are a reader"):
        queries.get_project(team.rae, "engine", at_least=Role.MEMBER)
    assert queries.get_project(team.ada, "engine", at_least=Role.OWNER) == team.project


def test_an_archived_project_can_be_read_by_all_and_changed_by_nobody() -> None:
    team = Team()
    services.archive_project(team.project, by=team.ada)
    assert queries.get_project(team.rae, "engine").is_archived
    assert not queries.can_write(team.ada, team.project)
    with pytest.raises(ProjectRefused, match="archived"):
        queries.check_can_ask(team.ada, team.project.pk)


def test_a_deleted_project_is_there_for_its_owners_to_restore_and_for_nobody_else() -> None:
    team = Team()
    services.delete_project(team.project, by=team.ada)
    assert not queries.projects_for(team.ada).exists()
    assert queries.get_role(team.ada, team.project) is None
    with pytest.raises(ProjectNotFound):
        queries.check_can_ask(team.bob, team.project.pk)
    assert queries.get_deleted_project(team.ada, team.project.pk) == team.project
    for user in (team.bob, team.rae, team.eve):
        with pytest.raises(ProjectNotFound):
            queries.get_deleted_project(user, team.project.pk)


def test_runs_are_their_authors_and_only_where_they_are_members() -> None:
    team = Team()
    own = run_of(team.bob, team.project)
    run_of(team.bob, Project.objects.create(name="left"))
    assert list(queries.runs_for(team.bob)) == [own]
    assert not queries.runs_for(team.ada).exists()


def test_of_many_places_those_are_kept_where_the_person_is_in_the_project() -> None:
    team, other = Team(), Project.objects.create(name="other")
    inside = (team.rae.pk, team.project.pk)
    places = {inside, (team.eve.pk, team.project.pk), (team.rae.pk, other.pk)}
    assert queries.filter_members(places) == {inside}
