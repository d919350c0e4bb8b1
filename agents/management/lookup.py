"""Whose run it is, on the command line: the one user and project there are, or the ones named."""

from django.contrib.auth.models import User
from django.core.management.base import CommandError
from django.db.models import Q

from agents.models import Project
from agents.models.users import LOCAL_USER
from agents.projects.errors import ProjectError
from agents.projects.queries import can_write, projects_for
from agents.projects.services import create_project
from agents.sample import create_sample_project

READ_ONLY_MESSAGE = (
    "{user} cannot write in {project}: it is archived, or {user} is a reader. Name an owner or a "
    "member with --user."
)


def find_user(name: str | None) -> User:
    """Return the user of that name; without one, the only user, made if there is none, or the only
    administrator: whoever invites somebody still need not say who they are."""
    users = list(User.objects.order_by("username")[:20])
    if name is None:
        administrators = list(User.objects.filter(is_superuser=True, is_active=True)[:2])
        if len(administrators) == 1:
            return administrators[0]
        if len(users) > 1:
            raise CommandError(f"Say who asks with --user: {_join_names(users)}.")
        return users[0] if users else User.objects.create_user(LOCAL_USER)
    found = User.objects.filter(username=name).first()
    if found is None:
        raise CommandError(f"There is no user {name!r}. Known: {_join_names(users)}.")
    return found


def find_project(name: str | None, user: User) -> Project:
    """Return the user's project of that name; without one, their only one, or the sample."""
    projects = list(projects_for(user)[:200])
    if name is None:
        if len(projects) > 1:
            raise CommandError(f"Say which project with --project: {_join_names(projects)}.")
        return projects[0] if projects else _create_sample(user)
    found = next((project for project in projects if name in (project.name, project.slug)), None)
    if found is None:
        raise CommandError(f"{user} has no project {name!r}. Known: {_join_names(projects)}.")
    return found


def _create_sample(user: User) -> Project:
    try:
        return create_sample_project(user)
    except ProjectError as error:
        raise CommandError(str(error)) from None


def find_or_create_project(name: str, user: User) -> Project:
    """Return the project of that name, which the user may change; else a new one of theirs."""
    found = projects_for(user).filter(Q(name=name) | Q(slug=name)).first()
    if found is not None and not can_write(user, found):
        raise CommandError(READ_ONLY_MESSAGE.format(user=user, project=found))
    if found is not None:
        return found
    try:
        return create_project(user, name)
    except ProjectError as error:
        raise CommandError(str(error)) from None


def _join_names(things: list[User] | list[Project]) -> str:
    return ", ".join(map(str, things)) or "none"
