"""What every page of the library does first: find the project, and refuse in words."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache

from agents.code.service import CodeError, CodeUnavailable
from agents.models import Membership, Project
from agents.projects.errors import ProjectError, ProjectForbidden, ProjectRefused
from agents.projects.queries import ARCHIVED_MESSAGE, can_write, get_project
from agents.vault.author import Author
from agents.vault.errors import NoteUnavailable, ThreadUnavailable, VaultError
from agents.web.requests import HtmxRequest, get_user, sign_in_required

P = ParamSpec("P")
LibraryView = Callable[Concatenate[HtmxRequest, Project, P], HttpResponse]
MAX_DIGITS = 9
MAX_FIELD_LENGTH = 300


def library_page(
    *, writes: bool = False
) -> Callable[[LibraryView[P]], Callable[..., HttpResponse]]:
    """Give a view the project of its address, for people who can open it, or change it."""

    def decorate(view: LibraryView[P]) -> Callable[..., HttpResponse]:
        @never_cache
        @sign_in_required()
        @wraps(view)
        def answer(request: HtmxRequest, slug: str, *args: P.args, **kw: P.kwargs) -> HttpResponse:
            try:
                return view(request, find_project(request, slug, writes=writes), *args, **kw)
            except (ProjectError, VaultError, CodeError) as error:
                return refuse(request, error)

        return answer

    return decorate


def find_project(request: HttpRequest, key: str, *, writes: bool = False) -> Project:
    """Return a project that the signed-in person can open, or change."""
    if not writes:
        return get_project(get_user(request), key)
    project = get_project(get_user(request), key, at_least=Membership.Role.MEMBER)
    if project.is_archived:
        raise ProjectRefused(ARCHIVED_MESSAGE)
    return project


def refuse(request: HttpRequest, error: ProjectError | VaultError | CodeError) -> HttpResponse:
    """Say in words why not."""
    if isinstance(error, ProjectForbidden | ProjectRefused):
        status = 403
    else:
        gone = (ProjectError, NoteUnavailable, ThreadUnavailable, CodeUnavailable)
        status = 404 if isinstance(error, gone) else 400
    context = {"why": str(error), "is_missing": status == 404}
    return render(request, "chat/library/refused.html", context, status=status)


def render_page(
    request: HttpRequest, project: Project, name: str, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    """Render a page of a project's library."""
    shared = {"project": project, "can_write": can_write(get_user(request), project)}
    return render(request, name, {**shared, **context}, status=status)


def get_author(request: HttpRequest) -> Author:
    return Author.person(get_user(request).pk)


def parse_number(given: str | None) -> int:
    """Return a number of an address; 0 for what is none."""
    is_number = given and given.isascii() and given.isdigit() and len(given) <= MAX_DIGITS
    return int(given) if given and is_number else 0


def clean(given: str) -> str:
    """Return what somebody wrote into a field, as it can be looked for."""
    return given.replace("\0", "").strip()[:MAX_FIELD_LENGTH]
