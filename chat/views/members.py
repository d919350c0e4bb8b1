"""Owners change who is in a project; everybody may leave."""

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from agents.models import Project
from agents.projects import invitations, members, queries
from agents.projects.errors import ProjectError, ProjectRefused
from agents.projects.queries import Role
from agents.web.requests import get_user
from chat.views.projects import project_view, render_project

MAX_ID = 2**63 - 1


@require_POST
@project_view(Role.OWNER)
def add(request: HttpRequest, project: Project) -> HttpResponse:
    name = request.POST.get("name", "")
    try:
        person = members.find_person(name)
        members.add_member(project, person, _parse_role(request), by=get_user(request))
    except ProjectError as error:
        return render_project(
            request, project, status=422, person=name[:200], person_error=str(error)
        )
    messages.success(request, f"{person.username} is now in the project.")
    return redirect("project", project.slug)


@require_POST
@project_view(Role.OWNER)
def change_role(request: HttpRequest, project: Project) -> HttpResponse:
    def change(person: User) -> str:
        members.change_role(project, person, _parse_role(request), by=get_user(request))
        return f"The role of {person.username} is changed."

    return _change_member(request, project, change)


@require_POST
@project_view(Role.OWNER)
def remove(request: HttpRequest, project: Project) -> HttpResponse:
    def end(person: User) -> str:
        members.remove_member(project, person, by=get_user(request))
        return f"{person.username} is no longer in the project."

    return _change_member(request, project, end)


@require_POST
@project_view()
def leave(request: HttpRequest, project: Project) -> HttpResponse:
    user = get_user(request)
    try:
        members.remove_member(project, user, by=user)
    except ProjectError as error:
        messages.error(request, str(error))
        return redirect("project", project.slug)
    messages.success(request, f"You have left “{project.name}”.")
    return redirect("projects")


@never_cache
@require_POST
@project_view(Role.OWNER)
def create_link(request: HttpRequest, project: Project) -> HttpResponse:
    """Show a new link. It is not shown again: only a digest of it is kept."""
    try:
        made, token = invitations.create_invitation(
            project, _parse_role(request), by=get_user(request)
        )
    except ProjectError as error:
        return render_project(request, project, status=422, link_error=str(error))
    address = request.build_absolute_uri(reverse("invitation", args=[token]))
    return render_project(request, project, made=made, link=address)


@require_POST
@project_view(Role.OWNER)
def revoke_link(request: HttpRequest, project: Project) -> HttpResponse:
    try:
        number = _parse_number(request.POST.get("link", ""))
        invitations.revoke_invitation(project, number, by=get_user(request))
    except ProjectError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, "The link no longer works.")
    return redirect("project", project.slug)


def _change_member(
    request: HttpRequest, project: Project, change: Callable[[User], str]
) -> HttpResponse:
    number = _parse_number(request.POST.get("person", ""))
    member = queries.list_members(project).filter(user=number).first()
    if member is None:
        raise Http404("There is no such member of this project.")
    try:
        messages.success(request, change(member.user))
    except ProjectError as error:
        messages.error(request, str(error))
    return redirect("project", project.slug)


def _parse_role(request: HttpRequest) -> Role:
    try:
        return Role(request.POST.get("role", ""))
    except ValueError:
        raise ProjectRefused("Choose a role: owner, member or reader.") from None


def _parse_number(text: str) -> int:
    is_number = text.isascii() and text.isdecimal() and len(text) < 20
    return min(int(text), MAX_ID) if is_number else 0
