"""The signed-in person, and requests as django-htmx's middleware leaves them."""

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django_htmx.middleware import HtmxDetails

View = Callable[..., HttpResponse]


class HtmxRequest(HttpRequest):
    """A request whose `htmx` says whether a part of a page is asked for."""

    htmx: HtmxDetails


def get_user(request: HttpRequest) -> User:
    """Return the user, in views that only those who have signed in can reach."""
    return cast(User, request.user)


def sign_in_required(*, htmx_status: int = 401) -> Callable[[View], View]:
    """Ask whoever is signed out to sign in; answer htmx with a bare status instead.

    htmx would follow a redirect, and put the page to sign in inside of the one that is open.
    """

    def decorate(view: View) -> View:
        protected = login_required(view)

        @wraps(view)
        def answer(request: HtmxRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if request.htmx and not request.user.is_authenticated:
                return HttpResponse(status=htmx_status)
            return protected(request, *args, **kwargs)

        return answer

    return decorate
