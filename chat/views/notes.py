"""The page of a note."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from agents.models import Membership
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
    place = Membership.objects.filter(project=project_id, user=get_user(request).pk)
    membership = place.select_related("project").first()
    if membership is None:
        raise Http404("There is no such project of yours.")
    try:
        text = get_note(membership.project.pk, path).text
    except VaultError:
        raise Http404("There is no such note.") from None
    block, line = _parse_number(request, "block"), _parse_number(request, "line")
    shown = build_note_page(text, block, line)
    context = {"path": path, "project": membership.project, "shown": shown}
    return render(request, "chat/pages/note.html", context)


def _parse_number(request: HttpRequest, name: str) -> int:
    given = request.GET.get(name, "")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 10 else 0
