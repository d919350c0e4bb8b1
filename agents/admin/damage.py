"""A row that somebody damaged must not take a page down: it says so instead."""

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render

log = logging.getLogger(__name__)
View = Callable[..., HttpResponseBase]


def unless_damaged(view: View) -> View:
    """The answer of a view, rendered here; or a page that says what to do about damage."""

    @wraps(view)
    def shown(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            answer = view(request, *args, **kwargs)
            if hasattr(answer, "render"):
                answer.render()
        except (Http404, PermissionDenied):
            raise
        except Exception:
            log.exception("a page of the audit cannot be shown")
            return render(request, "admin/agents/damaged.html", {"title": "Damaged"})
        return answer

    return shown
