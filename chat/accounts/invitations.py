"""The page of a link into a project: join, or make the account first."""

from typing import Any

from django.contrib.auth import login
from django.contrib.auth.models import User
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from agents.models import Invitation
from agents.projects import invitations
from agents.projects.errors import ProjectNotFound, ProjectRefused
from agents.web.requests import get_user
from chat.accounts.forms import NAME_TAKEN_MESSAGE, NewAccountForm
from chat.accounts.login_throttle import WINDOW_SECONDS, SignInAttempts

TOO_MANY_MESSAGE = "Too many attempts with this link. Wait five minutes, then try again."


@never_cache
@sensitive_post_parameters("password1", "password2")
@require_http_methods(["GET", "POST"])
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Answer the same, whatever is wrong with a link.

    The address is a secret. No other site is told it, as none is of any page; this one is, because
    a browser that tells it to nobody sends no origin with the form either.
    """
    try:
        found = invitations.get_invitation(token)
        return _answer(request, token, found)
    except ProjectNotFound:
        return render(request, "accounts/invitation_spent.html", status=410)
    except ProjectRefused as refused:
        return _render(request, found, 409, form=NewAccountForm(), problem=str(refused))


def _answer(request: HttpRequest, token: str, found: Invitation) -> HttpResponse:
    invitations.check_can_join(found)
    if request.user.is_authenticated:
        return _join(request, token, found)
    if request.method != "POST":
        return _render(request, found, form=NewAccountForm())
    address = str(request.META.get("REMOTE_ADDR", ""))
    attempts = SignInAttempts(invitations.token_digest(token), address)
    if not attempts.register():
        response = _render(request, found, 429, form=NewAccountForm(), problem=TOO_MANY_MESSAGE)
        response.headers["Retry-After"] = str(WINDOW_SECONDS)
        return response
    form = NewAccountForm(request.POST)
    if form.is_valid() and (user := _create_account(form, token)) is not None:
        attempts.reset()
        login(request, user)
        return redirect("project-open", found.project.slug)
    return _render(request, found, 422, form=form)


def _create_account(form: NewAccountForm, token: str) -> User | None:
    name, password = form.cleaned_data["username"], form.cleaned_data["password1"]
    try:
        return invitations.accept_as_new_user(token, name, password)[0]
    except IntegrityError:  # somebody else took the name just now
        form.add_error("username", NAME_TAKEN_MESSAGE)
        return None


def _join(request: HttpRequest, token: str, found: Invitation) -> HttpResponse:
    if request.method != "POST":
        return _render(request, found)
    project = invitations.accept_invitation(token, get_user(request))
    return redirect("project-open", project.slug)


def _render(
    request: HttpRequest, found: Invitation, status: int = 200, **more: Any
) -> HttpResponse:
    context = {"invitation": found, "project": found.project, **more}
    return render(request, "accounts/invitation.html", context, status=status)
