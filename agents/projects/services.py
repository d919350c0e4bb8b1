"""Create, rename, archive, delete and restore projects. Rights are checked before, in `queries`."""

import unicodedata
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone

from agents.audit.log import log_action
from agents.core.sanitize import is_blank
from agents.models import AuditEntry, Membership, Project
from agents.models.settings import AskBeforeWriting
from agents.projects.access import lock_members, stop_runs
from agents.projects.errors import InvalidName, ProjectRefused

MAX_NAME_LENGTH = 200
MAX_OWNED_PROJECTS = 200
"""That one person may own, deleted ones not counted."""
SLUG_ATTEMPTS = 5
UNDO_PERIOD = timedelta(days=30)
"""How long a deleted project can be restored."""
REFUSED_CATEGORIES = frozenset({"Cc", "Cs", "Zl", "Zp"})
DIRECTION_MARKS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""They would turn around the text that a name stands in."""


def clean_name(name: str) -> str:
    """Return a project's name as it is stored, or refuse it with a sentence."""
    name = unicodedata.normalize("NFC", name).strip()
    if is_blank(name):
        raise InvalidName("Give the project a name.")
    if len(name) > MAX_NAME_LENGTH:
        raise InvalidName(
            f"A name may have {MAX_NAME_LENGTH} characters; this one has {len(name):,}."
        )
    if any(unicodedata.category(c) in REFUSED_CATEGORIES or c in DIRECTION_MARKS for c in name):
        raise InvalidName(
            "The name has control characters in it (line breaks, for example). Leave them out."
        )
    return name


def create_project(user: User, name: str, *, is_sample: bool = False) -> Project:
    """Create a project that `user` owns."""
    name = clean_name(name)
    owned = Membership.objects.filter(user=user, role=Membership.Role.OWNER)
    if owned.filter(project__deleted_at__isnull=True).count() >= MAX_OWNED_PROJECTS:
        raise ProjectRefused(f"You own {MAX_OWNED_PROJECTS} projects. Delete one first.")
    with transaction.atomic():
        project = _save_with_slug(Project(name=name, is_sample=is_sample))
        Membership.objects.create(project=project, user=user, role=Membership.Role.OWNER)
        log_action(AuditEntry.Verb.PROJECT, by=user, did="create", project=str(project.pk))
    return project


def _save_with_slug(project: Project) -> Project:
    """Store a new project. Whoever took its slug at the same time is seen the next time."""
    for attempt in range(SLUG_ATTEMPTS):
        try:
            with transaction.atomic():
                project.slug = ""
                project.save(force_insert=True)
                return project
        except IntegrityError:
            if attempt == SLUG_ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt returns or raises")


def rename_project(project: Project, name: str, *, by: User | None) -> Project:
    """Give a project another name; its slug stays, so addresses do."""
    return _change(project, by, "rename", name=clean_name(name))


def set_asking(project: Project, mode: str, *, by: User | None) -> Project:
    """Say whether tools that change something ask first, in everybody's runs in a project."""
    if mode not in AskBeforeWriting.values:
        raise ProjectRefused(f"Say one of: {', '.join(AskBeforeWriting.values)}.")
    return _change(project, by, "ask", ask_before_writing=mode)


def archive_project(project: Project, *, by: User | None) -> Project:
    """Make a project read-only. Runs that are going on in it are stopped."""
    return _close(project, by, "archive", "The project was archived.", archived_at=timezone.now())


def unarchive_project(project: Project, *, by: User | None) -> Project:
    return _change(project, by, "unarchive", archived_at=None)


def delete_project(project: Project, *, by: User | None) -> Project:
    """Hide a project from everybody; for 30 days an owner can restore it."""
    return _close(project, by, "delete", "The project was deleted.", deleted_at=timezone.now())


def restore_project(project: Project, *, by: User | None) -> Project:
    """Undo a deletion. Everybody who was in the project is in it again."""
    with transaction.atomic():
        found = Project.objects.select_for_update().get(pk=project.pk)
        if not found.name:
            raise ProjectRefused(
                "The contents of this project were deleted for good after 30 days."
            )
        return _change(project, by, "restore", deleted_at=None)


def purge_date(project: Project) -> datetime | None:
    """Return when a deleted project is purged."""
    return project.deleted_at + UNDO_PERIOD if project.deleted_at is not None else None


def _close(project: Project, by: User | None, did: str, note: str, **values: Any) -> Project:
    return _change(project, by, did, after=lambda: stop_runs(project, note), **values)


def _change(
    project: Project,
    by: User | None,
    did: str,
    *,
    after: Callable[[], None] | None = None,
    **values: Any,
) -> Project:
    with transaction.atomic():
        lock_members(project)
        Project.objects.filter(pk=project.pk).update(**values)
        log_action(AuditEntry.Verb.PROJECT, by=by, did=did, project=str(project.pk))
        if after is not None:
            after()
    for name, value in values.items():
        setattr(project, name, value)
    return project
