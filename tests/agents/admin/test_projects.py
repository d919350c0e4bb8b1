"""An administrator lets people into projects, and says where newcomers come."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from agents.models import AuditEntry, Membership, SiteSettings
from agents.projects.members import welcome
from agents.projects.queries import Role, get_role
from tests.agents.models.factories import run_of
from tests.agents.projects.people import Team
from tests.chat.factories import Browser, browser

pytestmark = pytest.mark.django_db


def administrator() -> Browser:
    return browser(User.objects.create_superuser("root"))


def form(team: Team, *new: tuple[str, str], **changed: Any) -> dict[str, Any]:
    """What the page of the project sends: its people as they are, and new ones."""
    rows = list(Membership.objects.filter(project=team.project).order_by("pk"))
    data: dict[str, Any] = {
        "name": "Engine",
        "memberships-TOTAL_FORMS": len(rows) + len(new),
        "memberships-INITIAL_FORMS": len(rows),
    }
    for number, row in enumerate(rows):
        data |= {f"memberships-{number}-id": row.pk, f"memberships-{number}-role": row.role}
        data[f"memberships-{number}-project"] = team.project.pk
    for number, (name, role) in enumerate(new, start=len(rows)):
        data |= {f"memberships-{number}-username": name, f"memberships-{number}-role": role}
        data[f"memberships-{number}-project"] = team.project.pk
    return {**data, **changed}


def address(team: Team) -> str:
    return f"/admin/agents/project/{team.project.pk}/change/"


def test_projects_are_listed_and_shown_with_their_people() -> None:
    team, root = Team(), administrator()
    assert "engine" in root.get("/admin/agents/project/").content.decode()
    page = root.get(address(team)).content.decode()
    assert all(name in page for name in ("ada", "bob", "rae"))


def test_somebody_is_let_in_by_name() -> None:
    team, root = Team(), administrator()
    assert root.post(address(team), form(team, ("eve", "reader"))).status_code == 302
    assert get_role(team.eve, team.project) == Role.READER
    entry = AuditEntry.objects.filter(verb="member").get()
    assert entry.by is not None
    assert entry.by.username == "root"


def test_a_name_that_nobody_has_is_refused_in_words() -> None:
    team, root = Team(), administrator()
    answer = root.post(address(team), form(team, ("nobody", "reader")))
    assert "There is no user with that name" in answer.content.decode()


def test_roles_change_people_go_and_their_runs_end() -> None:
    team, root = Team(), administrator()
    run = run_of(team.bob, team.project)
    changed = {"memberships-1-DELETE": "on", "memberships-2-role": "member", "name": "Loom"}
    assert root.post(address(team), form(team, **changed)).status_code == 302
    run.refresh_from_db()
    team.project.refresh_from_db()
    assert get_role(team.bob, team.project) is None
    assert get_role(team.rae, team.project) == Role.MEMBER
    assert run.cancel_note
    assert team.project.name == "Loom"


def test_the_last_owner_stays() -> None:
    team, root = Team(), administrator()
    page = root.post(address(team), form(team, **{"memberships-0-role": "reader"}), follow=True)
    assert "needs an owner" in page.content.decode()
    assert get_role(team.ada, team.project) == Role.OWNER


def test_the_default_project_is_a_setting_of_the_site_and_it_is_recorded() -> None:
    team, root = Team(), administrator()
    page = root.get("/admin/agents/sitesettings/", follow=True)
    there = page.redirect_chain[-1][0]
    root.post(there, {"default_project": team.project.pk, "default_role": "reader"})
    assert SiteSettings.load().default_project == team.project
    assert AuditEntry.objects.filter(verb="site").get().detail["default_role"] == "reader"
    assert welcome(team.eve) == team.project
    assert get_role(team.eve, team.project) == Role.READER
