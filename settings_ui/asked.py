"""Who asks for a page of the settings."""

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse


def user_of(request: HttpRequest) -> User:
    """For views that only those who have signed in can reach."""
    return cast(User, request.user)


def signed_in(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Whoever is signed out is asked to sign in; a form that saves itself hears 401 instead.

    A redirect would be followed, and the page to sign in would appear inside of the form.
    """
    asked = login_required(view)

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if is_piece(request) and not request.user.is_authenticated:
            return HttpResponse(status=401)
        return asked(request, *args, **kwargs)

    return answer


def is_piece(request: HttpRequest) -> bool:
    """Whether a script of ours asks for a part of the page, rather than a browser for all of it."""
    return bool(request.headers.get("HX-Request"))
