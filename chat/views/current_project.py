"""The project that somebody works in: chosen in the sidebar, remembered in their session."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from agents.models import Project
from agents.projects.members import first_project_for
from agents.projects.queries import projects_for
from agents.web.requests import get_user
from chat.conversations import queries

SESSION_KEY = "project"
MAX_LISTED = 20
"""Projects that the switcher lists; all are on their own page."""


def get_current_project(request: HttpRequest) -> Project | None:
    """Return the project chosen last, else that of the newest conversation, else the first."""
    user = get_user(request)
    chosen = request.session.get(SESSION_KEY)
    found = projects_for(user).filter(pk=chosen).first() if chosen else None
    if found is not None:
        return found
    newest = queries.for_user(user).select_related("project").order_by("-updated_at", "id").first()
    return newest.project if newest is not None else first_project_for(user)


def go_into_project(request: HttpRequest, project: Project) -> HttpResponse:
    """Work in a project: go to its newest conversation, or to a new one."""
    remember_project(request, project)
    own = queries.for_user(get_user(request)).filter(project=project)
    newest = own.order_by("-updated_at", "id").first()
    return redirect("conversation", newest.pk) if newest else redirect("new")


def remember_project(request: HttpRequest, project: Project) -> None:
    """Work in this project from now on. A session that says so already is not written again."""
    if request.session.get(SESSION_KEY) != str(project.pk):
        request.session[SESSION_KEY] = str(project.pk)
