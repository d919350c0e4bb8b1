"""Who may open a page of the audit, and the run that it is about."""

from typing import cast

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

VIEW_PERMISSION, CONTENT_PERMISSION, CANCEL_PERMISSION = (
    "agents.view_agentrun",
    "agents.view_content",
    "agents.cancel_runs",
)


def require_permissions(request: HttpRequest, *permissions: str) -> User:
    """Return who asks, if they have all of these permissions. The admin site checks for staff."""
    user = cast(User, request.user)
    if not user.has_perms((VIEW_PERMISSION, *permissions)):
        raise PermissionDenied
    return user
