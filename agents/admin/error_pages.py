"""Show that a row is damaged, instead of failing the whole page."""

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import Error as DatabaseError
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render

from agents.ledger import describe_database_error

logger = logging.getLogger(__name__)
View = Callable[..., HttpResponseBase]


def staff_view(admin_site: AdminSite, view: View) -> View:
    """Return a view of the admin that is given its site, and says so when a row is damaged."""

    def ask(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        return view(admin_site, request, **kwargs)

    return admin_site.admin_view(show_damage_page(ask))


def show_damage_page(view: View) -> View:
    """Return the answer of a view, rendered here; or a page that says what to do about damage."""

    @wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            answer = view(request, *args, **kwargs)
            if hasattr(answer, "render"):
                answer.render()
        except (Http404, PermissionDenied, SuspiciousOperation):
            raise
        except Exception as error:
            if isinstance(error, DatabaseError) and describe_database_error(error):
                raise  # no row is damaged: the whole database cannot be used
            logger.exception("a page of the audit cannot be shown")
            return render(request, "admin/agents/damaged.html", {"title": "Damaged"})
        return answer

    return wrapper
