"""Links that let one person into a project: once, within a week."""

import hashlib
import secrets
from datetime import timedelta

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from agents.audit.log import log_action
from agents.models import AuditEntry, Invitation, Membership, Project
from agents.projects.access import lock_members
from agents.projects.errors import ProjectNotFound, ProjectRefused
from agents.projects.members import add_member

LIFETIME = timedelta(days=7)
CLOCK_SKEW = timedelta(seconds=5)
"""The difference between the clocks of two machines that is tolerated."""
MAX_OPEN = 50
"""Links of one project that may be open at a time."""
ARCHIVED_MESSAGE = (
    "This project is archived, so nobody can join it. Ask an owner to unarchive it: "
    "this link stays valid for its week."
)
SPENT_MESSAGE = "This link was used or revoked, or is older than a week. Ask for a new one."


def create_invitation(
    project: Project, role: Membership.Role, *, by: User | None
) -> tuple[Invitation, str]:
    """Return a new invitation and the secret of its link, which nobody can read again."""
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)  # those who count wait
        if open_invitations(project).count() >= MAX_OPEN:
            raise ProjectRefused(f"There are {MAX_OPEN} open links. Revoke one first.")
        token = secrets.token_urlsafe(32)
        made = Invitation.objects.create(
            project=project,
            role=role,
            digest=token_digest(token),
            created_by=by,
            expires_at=timezone.now() + LIFETIME,
        )
        _log(made, by, "invite")
    return made, token


def open_invitations(project: Project) -> QuerySet[Invitation]:
    """Return the links of a project that still work, newest first."""
    return _usable().filter(project=project).select_related("created_by")


def revoke_invitation(project: Project, invitation_id: int, *, by: User | None) -> None:
    with transaction.atomic():
        found = open_invitations(project).filter(pk=invitation_id).first()
        if found is None:
            raise ProjectNotFound("There is no such open link.")
        Invitation.objects.filter(pk=found.pk).update(revoked_at=timezone.now())
        _log(found, by, "revoke")


def get_invitation(token: str) -> Invitation:
    """Return the open invitation of a link. Whatever is wrong with one, the answer is the same.

    A link from the future was created while the clock ran ahead, so its age is unknown.
    """
    latest = timezone.now() + LIFETIME + CLOCK_SKEW
    found = _usable().filter(digest=token_digest(token), expires_at__lte=latest)
    invitation = found.select_related("project", "created_by").first()
    if invitation is None:
        raise ProjectNotFound(SPENT_MESSAGE)
    return invitation


def check_can_join(invitation: Invitation) -> None:
    """Raise ProjectRefused if nobody can join the project now. The link stays valid."""
    if invitation.project.is_archived:
        raise ProjectRefused(ARCHIVED_MESSAGE)


def accept_invitation(token: str, user: User) -> Project:
    """Add a person to the project of a link. Of many who use one link at once, one is added.

    Raises ProjectNotFound for a spent link, ProjectRefused if the person cannot join now.
    """
    with transaction.atomic():
        invitation = get_invitation(token)
        check_can_join(invitation)
        lock_members(invitation.project)  # before the link, as those do who remove its maker
        _claim(invitation, user)
        role = Membership.Role(invitation.role)
        add_member(invitation.project, user, role, by=invitation.created_by)
    return invitation.project


def accept_as_new_user(token: str, username: str, password: str) -> tuple[User, Project]:
    """Create an account and add it to the project of a link. The password was validated before.

    Raises what `accept_invitation` raises; then there is no account.
    """
    check_can_join(get_invitation(token))  # hashing is dear: only for those who may
    hashed = make_password(password)  # before the transaction: it takes a third of a second
    with transaction.atomic():
        user = User.objects.create(username=User.normalize_username(username), password=hashed)
        return user, accept_invitation(token, user)


def token_digest(token: str) -> str:
    """Return what is stored of a link: its secret has 256 bits of chance, so a digest will do."""
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


def _usable() -> QuerySet[Invitation]:
    """Return the links that work. Whose account is closed could make another one by theirs."""
    return Invitation.objects.filter(
        used_at__isnull=True,
        revoked_at__isnull=True,
        expires_at__gt=timezone.now(),
        project__deleted_at__isnull=True,
    ).exclude(created_by__is_active=False)


def _claim(invitation: Invitation, user: User) -> None:
    mine = Invitation.objects.filter(
        pk=invitation.pk, used_at__isnull=True, revoked_at__isnull=True
    )
    if mine.update(used_at=timezone.now(), used_by=user) != 1:
        raise ProjectNotFound(SPENT_MESSAGE)


def _log(invitation: Invitation, by: User | None, did: str) -> None:
    project, role = str(invitation.project_id), invitation.role
    log_action(AuditEntry.Verb.MEMBER, by=by, did=did, project=project, role=role)
