"""The page of a note."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from agents.projects.errors import ProjectError
from agents.projects.queries import get_project
from agents.vault.errors import VaultError
from agents.vault.notes import get_note
from agents.web.requests import get_user
from chat.rendering import quota
from chat.rendering.note_page import build_note_page


@never_cache
@login_required
@require_GET
@quota.limit_rendering
def note(request: HttpRequest, project_id: UUID, path: str) -> HttpResponse:
    """A note of a project, as it is now."""
    try:
        project = get_project(get_user(request), project_id)
        text = get_note(project.pk, path).text
    except ProjectError as error:
        raise Http404(str(error)) from None
    except VaultError:
        raise Http404("There is no such note.") from None
    block, line = _parse_number(request, "block"), _parse_number(request, "line")
    shown = build_note_page(text, block, line)
    context = {"path": path, "project": project, "shown": shown}
    return render(request, "chat/pages/note.html", context)


def _parse_number(request: HttpRequest, name: str) -> int:
    given = request.GET.get(name, "")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 10 else 0
