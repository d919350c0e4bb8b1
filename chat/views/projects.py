"""Pages of projects: the list, creating one, one project's own page, the deleted ones."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from agents.models import Membership, Project
from agents.models.settings import AskBeforeWriting
from agents.projects import invitations, members, queries, services
from agents.projects.errors import InvalidName, ProjectError, ProjectForbidden, ProjectRefused
from agents.projects.queries import Role
from agents.sample import create_sample_project
from agents.web.requests import get_user
from chat.views.current_project import go_into_project

View = Callable[..., HttpResponse]


def project_view(at_least: Role = Role.READER) -> Callable[[View], View]:
    """Find the project that an address names, for somebody with this role or a greater one."""

    def decorate(view: View) -> View:
        @login_required
        @wraps(view)
        def answer(request: HttpRequest, slug: str, **where: Any) -> HttpResponse:
            try:
                project = queries.get_project(get_user(request), slug, at_least=at_least)
            except ProjectForbidden as error:
                raise PermissionDenied(str(error)) from None
            except ProjectError as error:
                raise Http404(str(error)) from None
            return view(request, project, **where)

        return answer

    return decorate


@never_cache
@login_required
@require_GET
def list_projects(request: HttpRequest) -> HttpResponse:
    members.first_project_for(get_user(request))  # a newcomer may be given one
    return _render_list(request)


def _render_list(
    request: HttpRequest, *, name: str = "", error: str = "", status: int = 200
) -> HttpResponse:
    user = get_user(request)
    places = queries.list_places(user)
    context = {
        "places": places,
        "has_sample": any(place.project.is_sample for place in places),
        "deleted": queries.deleted_projects_for(user).exclude(name="").count(),
        "name": name,
        "error": error,
        "max_length": services.MAX_NAME_LENGTH,
    }
    return render(request, "projects/list.html", context, status=status)


@login_required
@require_POST
def create(request: HttpRequest) -> HttpResponse:
    name = request.POST.get("name", "")
    try:
        project = services.create_project(get_user(request), name)
    except ProjectError as error:
        return _render_list(request, name=name[:1_000], error=str(error), status=422)
    return redirect("project-open", project.slug)


@login_required
@require_POST
def create_sample(request: HttpRequest) -> HttpResponse:
    """Make the sample project, for whoever wants to look around."""
    try:
        project = create_sample_project(get_user(request))
    except ProjectError as error:
        return _render_list(request, error=str(error), status=422)
    return redirect("project-open", project.slug)


@never_cache
@require_GET
@project_view()
def open_project(request: HttpRequest, project: Project) -> HttpResponse:
    """Switch to this project."""
    return go_into_project(request, project)


@never_cache
@require_GET
@project_view()
def show(request: HttpRequest, project: Project) -> HttpResponse:
    """Show who is in a project; for owners also everything that can be changed about it."""
    return render_project(request, project)


def render_project(
    request: HttpRequest, project: Project, *, status: int = 200, **more: Any
) -> HttpResponse:
    user = get_user(request)
    is_owner = queries.can_manage(user, project)
    context = {
        "project": project,
        "members": queries.list_members(project),
        "invitations": invitations.open_invitations(project) if is_owner else (),
        "is_owner": is_owner,
        "role": queries.get_role(user, project),
        "roles": Membership.Role.choices,
        "name": project.name,
        "max_length": services.MAX_NAME_LENGTH,
        "ask_modes": AskBeforeWriting.choices,
        **more,
    }
    return render(request, "projects/project.html", context, status=status)


@require_POST
@project_view(Role.OWNER)
def rename(request: HttpRequest, project: Project) -> HttpResponse:
    given = request.POST.get("name", "")
    try:
        services.rename_project(project, given, by=get_user(request))
    except InvalidName as error:
        return render_project(
            request, project, status=422, name=given[:1_000], name_error=str(error)
        )
    messages.success(request, "The project was renamed. Its address stays the same.")
    return redirect("project", project.slug)


@require_POST
@project_view(Role.OWNER)
def set_asking(request: HttpRequest, project: Project) -> HttpResponse:
    """Save whether tools that change something ask first."""
    try:
        services.set_asking(project, request.POST.get("mode", ""), by=get_user(request))
    except ProjectRefused as error:
        return HttpResponse(str(error), status=422, content_type="text/plain")
    messages.success(request, "Saved. It applies from the next run on.")
    return redirect("project", project.slug)


@require_POST
@project_view(Role.OWNER)
def archive(request: HttpRequest, project: Project) -> HttpResponse:
    services.archive_project(project, by=get_user(request))
    messages.success(request, "The project is archived. It can be read, but not changed.")
    return redirect("project", project.slug)


@require_POST
@project_view(Role.OWNER)
def unarchive(request: HttpRequest, project: Project) -> HttpResponse:
    services.unarchive_project(project, by=get_user(request))
    messages.success(request, "The project is no longer archived.")
    return redirect("project", project.slug)


@require_POST
@project_view(Role.OWNER)
def delete(request: HttpRequest, project: Project) -> HttpResponse:
    services.delete_project(project, by=get_user(request))
    return redirect("deleted-projects")


@never_cache
@login_required
@require_GET
def list_deleted(request: HttpRequest) -> HttpResponse:
    """Show what was deleted in the last 30 days, to undo it."""
    found = queries.deleted_projects_for(get_user(request)).exclude(name="")
    rows = [(project, services.purge_date(project)) for project in found]
    return render(request, "projects/deleted.html", {"rows": rows})


@login_required
@require_POST
def restore(request: HttpRequest, slug: str) -> HttpResponse:
    user = get_user(request)
    try:
        project = queries.get_deleted_project(user, slug)
        services.restore_project(project, by=user)
    except ProjectError as error:
        raise Http404(str(error)) from None
    messages.success(request, f"“{project.name}” is back, with everybody who was in it.")
    return redirect("project", project.slug)
