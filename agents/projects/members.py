"""Who is in a project. Rights are checked before, in `queries`."""

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from agents.audit.log import log_action
from agents.audit.signing import user_pseudonym
from agents.models import AuditEntry, Departure, Invitation, Membership, Project, SiteSettings
from agents.projects.access import lock_members, stop_runs
from agents.projects.errors import ProjectNotFound, ProjectRefused
from agents.projects.queries import projects_for

Role = Membership.Role
MAX_MEMBERS = 1000
WRITERS = frozenset({Role.OWNER, Role.MEMBER})
LAST_OWNER_MESSAGE = "A project needs an owner. Make somebody else an owner first."


def find_person(name: str) -> User:
    """Return the active user of that name."""
    name = User.normalize_username(name.strip())
    is_storable = "\0" not in name and name.isprintable()
    found = User.objects.filter(username=name, is_active=True).first() if is_storable else None
    if found is None:
        raise ProjectRefused("There is no user with that name. Create a link for somebody new.")
    return found


def add_member(project: Project, user: User, role: Role, *, by: User | None) -> Membership:
    with transaction.atomic():
        members = lock_members(project)
        if any(member.user_id == user.pk for member in members):
            raise ProjectRefused(f"{user.username} is already in this project.")
        if len(members) >= MAX_MEMBERS:
            raise ProjectRefused(f"A project may have {MAX_MEMBERS:,} members.")
        added = Membership.objects.create(project=project, user=user, role=role)
        _log(project, user, by, "add", role)
    return added


def change_role(project: Project, user: User, role: Role, *, by: User | None) -> None:
    """Give a member another role. Who may write no longer has runs that may: they are stopped. Who
    owns it no longer has links that let people in: they are revoked."""
    with transaction.atomic():
        members = lock_members(project)
        member = _find_member(members, user)
        if member.role == role:
            return
        _keep_an_owner(members, member)
        was_writer, was_owner = member.role in WRITERS, member.role == Role.OWNER
        member.role = role
        member.save(update_fields=["role"])
        _log(project, user, by, "role", role)
        if was_owner:
            revoke_links_by(user, by=by, project=project)
        if was_writer and role not in WRITERS:
            stop_runs(project, "You became a reader of this project.", user)


def remove_member(project: Project, user: User, *, by: User | None) -> None:
    """End a membership. Their runs there end, their open pages of it close, and links that they
    made let nobody in any more: else they could come back by one."""
    with transaction.atomic():
        members = lock_members(project)
        member = _find_member(members, user)
        _keep_an_owner(members, member)
        member.delete()
        Departure.objects.get_or_create(user=user, project=project)
        _log(project, user, by, "remove", Role(member.role))
        revoke_links_by(user, by=by, project=project)
        stop_runs(project, "You are no longer a member of this project.", user)


def revoke_links_by(user: User, *, by: User | None, project: Project | None = None) -> None:
    """Revoke the open links that somebody has made: of one project, or of all."""
    made = Invitation.objects.filter(created_by=user, used_at=None, revoked_at=None)
    rows = list(made if project is None else made.filter(project=project))
    made.filter(pk__in=[row.pk for row in rows]).update(revoked_at=timezone.now())
    for row in rows:
        place, role = str(row.project_id), row.role
        log_action(AuditEntry.Verb.MEMBER, by=by, did="revoke", project=place, role=role)


def welcome(user: User) -> Project | None:
    """Let a newcomer into the site's default project, if there is one; return it."""
    site = SiteSettings.load()
    project = site.default_project
    if project is None or project.deleted_at is not None or not is_newcomer(user, project):
        return None
    with transaction.atomic():
        role = Role(site.default_role)
        place = {"project": project, "user": user}
        _, is_new = Membership.objects.get_or_create(**place, defaults={"role": role})
        if is_new:
            _log(project, user, None, "welcome", role)
    return project


def first_project_for(user: User) -> Project | None:
    """Return the first project that can be asked in, else any; a newcomer's is the site's."""
    own = projects_for(user)
    return own.filter(archived_at__isnull=True).first() or own.first() or welcome(user)


def is_newcomer(user: User, project: Project) -> bool:
    """Return whether somebody has no project, and never left this one.

    What happened in other projects does not count: anybody can add people to one of their own,
    then remove them, or delete it.
    """
    left = Departure.objects.filter(Q(project=project) | Q(project=None), user=user)
    return not projects_for(user).exists() and not left.exists()


def _find_member(members: list[Membership], user: User) -> Membership:
    for member in members:
        if member.user_id == user.pk:
            return member
    raise ProjectNotFound("There is no such member of this project.")


def _keep_an_owner(members: list[Membership], leaving: Membership) -> None:
    owners = [member for member in members if member.role == Role.OWNER]
    if owners == [leaving]:
        raise ProjectRefused(LAST_OWNER_MESSAGE)


def _log(project: Project, user: User, by: User | None, did: str, role: Role) -> None:
    log_action(
        AuditEntry.Verb.MEMBER,
        by=by,
        did=did,
        project=str(project.pk),
        person=user_pseudonym(user.pk),
        role=str(role),
    )
