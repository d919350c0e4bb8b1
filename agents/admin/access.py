"""Who may open a page of the audit, and the run that it is about."""

from datetime import datetime
from typing import cast
from uuid import UUID

from django.contrib.admin.utils import unquote
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError
from django.http import Http404, HttpRequest

from agents.models import AgentRun

VIEW, CONTENT, CANCEL = "agents.view_agentrun", "agents.view_content", "agents.cancel_runs"
TEXTS = ("question", "answer", "explanation", "context_runs", "digests")
"""What a page of metadata has no business with."""
UNREADABLE = (DatabaseError, ValueError, TypeError, AttributeError)
"""What reading a damaged row may raise."""


class Unreadable(Exception):
    """There is such a run, but its row is damaged."""


def viewer(request: HttpRequest, *permissions: str) -> User:
    """Who asks, if they have all of these permissions. Staff is checked by the admin site."""
    user = cast(User, request.user)
    if not user.has_perms((VIEW, *permissions)):
        raise PermissionDenied
    return user


def key_of(object_id: str | UUID) -> UUID:
    """The id of a run as an address has it."""
    try:
        return object_id if isinstance(object_id, UUID) else UUID(unquote(object_id))
    except ValueError:
        raise Http404("There is no such run.") from None


def run_or_404(object_id: str | UUID) -> AgentRun:
    """The run without what was said in it."""
    key = key_of(object_id)
    try:
        found = AgentRun.objects.select_related("user", "project").defer(*TEXTS).filter(pk=key)
        run = found.first()
    except UNREADABLE:
        raise Unreadable from None
    if run is None:
        raise Http404("There is no such run.")
    started: object = run.started_at
    if not isinstance(started, datetime):  # SQLite keeps what is no time as nothing
        raise Unreadable
    return run
