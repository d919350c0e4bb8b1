"""Decide what a person can reach. Every page, tool, API, search and citation asks here.

Nobody else looks at memberships to decide it: a test reads the sources for that.
"""

from uuid import UUID

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import QuerySet

from agents.models import AgentRun, Membership, Project
from agents.projects.errors import ProjectForbidden, ProjectNotFound, ProjectRefused

Role = Membership.Role
RANKS = {Role.READER: 0, Role.MEMBER: 1, Role.OWNER: 2}
NEEDED_ROLE_MESSAGES = {
    Role.MEMBER: "You are a reader of this project: you can ask, but not change anything.",
    Role.OWNER: "Only an owner of this project can do this.",
}
NO_PROJECT_MESSAGE = (
    "There is no such project, or you are not in it (any more). One of its owners can let you in."
)
ARCHIVED_MESSAGE = (
    "This project is archived: it can be read, but nothing can be asked or changed in it. "
    "An owner can unarchive it."
)


def projects_for(user: User) -> QuerySet[Project]:
    """Return the projects that a person can open, archived ones included."""
    return Project.objects.filter(deleted_at__isnull=True, memberships__user=user)


def managed_projects_for(user: User) -> QuerySet[Project]:
    """Return the projects of which a person is an owner, archived ones included."""
    owned = Project.objects.filter(memberships__user=user, memberships__role=Role.OWNER)
    return owned.filter(deleted_at__isnull=True)


def deleted_projects_for(user: User) -> QuerySet[Project]:
    """Return the deleted projects that a person may restore, those deleted last first."""
    owned = Project.objects.filter(memberships__user=user, memberships__role=Role.OWNER)
    return owned.filter(deleted_at__isnull=False).order_by("-deleted_at", "id")


def runs_for(user: User) -> QuerySet[AgentRun]:
    """Return a person's own runs in projects that they can open."""
    return AgentRun.objects.filter(user=user, project__in=projects_for(user).values("pk"))


def get_project(user: User, key: UUID | str, *, at_least: Role = Role.READER) -> Project:
    """Return a project by its id or slug, for somebody with this role or a greater one."""
    found = _find(projects_for(user), key)
    if found is None:
        raise ProjectNotFound(NO_PROJECT_MESSAGE)
    role = get_role(user, found)
    if role is None:
        raise ProjectNotFound(NO_PROJECT_MESSAGE)
    if RANKS[role] < RANKS[at_least]:
        raise ProjectForbidden(NEEDED_ROLE_MESSAGES[at_least])
    return found


def get_deleted_project(user: User, key: UUID | str) -> Project:
    """Return a deleted project, for one of its owners."""
    found = _find(deleted_projects_for(user), key)
    if found is None:
        raise ProjectNotFound("You have no such deleted project.")
    return found


def _find(projects: QuerySet[Project], key: UUID | str) -> Project | None:
    if isinstance(key, UUID):
        return projects.filter(pk=key).first()
    return projects.filter(slug=key).first() if "\0" not in key else None


def get_role(user: User, project: Project) -> Role | None:
    """Return a person's role in a project that was not deleted, or None."""
    place = Membership.objects.filter(
        user=user, project=project.pk, project__deleted_at__isnull=True
    )
    role = place.values_list("role", flat=True).first()
    return Role(role) if role is not None else None


def can_write(user: User, project: Project) -> bool:
    """Return whether a person may change what is in a project, themselves or by their runs."""
    return not project.is_archived and get_role(user, project) in (Role.MEMBER, Role.OWNER)


def can_manage(user: User, project: Project) -> bool:
    return get_role(user, project) is Role.OWNER


def check_can_ask(user: User, project_id: UUID) -> None:
    """Refuse a run that may not start. In the transaction that stores it: until that is over, the
    person cannot be removed, so that a removal sees the run and ends it."""
    place = Membership.objects.filter(user=user, project=project_id)
    _hold(place)
    found = place.filter(project__deleted_at__isnull=True)
    archived = found.values_list("project__archived_at", flat=True)
    if not archived:
        raise ProjectNotFound(NO_PROJECT_MESSAGE)
    if archived[0] is not None:
        raise ProjectRefused(ARCHIVED_MESSAGE)


def can_read_by_id(user_id: int, project_id: UUID) -> bool:
    """Return whether a person can open a project at this moment."""
    return bool(filter_members({(user_id, project_id)}))


def hold_write_access(user_id: int, project_id: UUID) -> bool:
    """Return whether a person may change a project at this moment. To be called in the transaction
    of the change: until that is over, they cannot be removed, nor become a reader."""
    place = Membership.objects.filter(user=user_id, project=project_id)
    _hold(place)
    return place.filter(
        project__deleted_at__isnull=True,
        project__archived_at__isnull=True,
        role__in=(Role.MEMBER, Role.OWNER),
    ).exists()


def _hold(place: QuerySet[Membership]) -> None:
    """Keep a membership from being changed until the transaction is over. What it gives is to be
    read after this: a statement that waited for the lock sees the project as it was before."""
    if connection.features.has_select_for_update:
        list(place.select_for_update(no_key=True).values_list("pk"))


def filter_members(places: set[tuple[int, UUID]]) -> set[tuple[int, UUID]]:
    """Of (user id, project id), return those where the person can open the project."""
    people = {user_id for user_id, _ in places}
    current = Membership.objects.filter(user__in=people, project__deleted_at__isnull=True)
    projects = {project_id for _, project_id in places}
    return places & set(current.filter(project__in=projects).values_list("user_id", "project_id"))


def list_places(user: User) -> list[Membership]:
    """Return a person's memberships with their projects, by name, archived ones last."""
    own = Membership.objects.filter(user=user, project__deleted_at__isnull=True)
    found = own.select_related("project").order_by("project__name", "project")
    return sorted(found, key=lambda place: place.project.is_archived)


def list_members(project: Project) -> QuerySet[Membership]:
    """Return who is in a project, by name."""
    return (
        Membership.objects.filter(project=project).select_related("user").order_by("user__username")
    )
