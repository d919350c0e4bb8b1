"""Whose run it is, on the command line: the one user and project there are, or the ones named."""

from django.contrib.auth.models import User
from django.core.management.base import CommandError
from django.db import transaction

from agents.models import Membership, Project
from agents.runtime.world import add_sample_notes

LOCAL_USER = "local"
SAMPLE = "Tidewatch"


def user_named(name: str | None) -> User:
    """The user of that name; without one, the only user, made if there is none."""
    users = list(User.objects.order_by("username")[:20])
    if name is None:
        if len(users) > 1:
            raise CommandError(f"Say who asks with --user: {_list(users)}.")
        return users[0] if users else User.objects.create_user(LOCAL_USER)
    found = User.objects.filter(username=name).first()
    if found is None:
        raise CommandError(f"There is no user {name!r}. Known: {_list(users)}.")
    return found


def project_named(name: str | None, user: User) -> Project:
    """The user's project of that name; without one, their only one, or the sample project."""
    projects = list(Project.objects.filter(members=user)[:20])
    if name is None:
        if len(projects) > 1:
            raise CommandError(f"Say which project with --project: {_list(projects)}.")
        return projects[0] if projects else sample_project(user)
    found = next((project for project in projects if project.name == name), None)
    if found is None:
        raise CommandError(f"{user} has no project {name!r}. Known: {_list(projects)}.")
    return found


@transaction.atomic
def sample_project(user: User) -> Project:
    project = Project.objects.create(name=SAMPLE)
    Membership.objects.create(project=project, user=user, role=Membership.Role.OWNER)
    add_sample_notes(project)
    return project


def _list(things: list[User] | list[Project]) -> str:
    return ", ".join(map(str, things)) or "none"
