"""Move a note, a file or a folder; links that led to it still do."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import urlencode

from agents.models import Project
from agents.vault.errors import NoteRefused, NoteUnavailable
from agents.vault.moves import MoveReport
from agents.vault.moves import move as move_path
from agents.vault.notes import find_note
from agents.vault.paths import validate_path
from chat.views.library.helpers import get_author, library_page, render_page


@library_page(writes=True)
def move(request: HttpRequest, project: Project, path: str) -> HttpResponse:
    """Ask for the new path, then move what is at the old one."""
    validate_path(path)
    new_path = request.POST.get("new_path", path).strip()
    context: dict[str, Any] = {"path": path, "new_path": new_path}
    if request.method == "POST":
        try:
            report = move_path(project.pk, path, new_path, get_author(request))
        except (NoteRefused, NoteUnavailable) as error:
            context["refusal"] = str(error)
        else:
            messages.success(request, _describe(report))
            return _redirect_to(project, new_path)
    status = 422 if "refusal" in context else 200
    return render_page(request, project, "chat/library/move.html", context, status)


def _describe(report: MoveReport) -> str:
    count = len(report.rewritten)
    links = f" Links in {count} note{'s' if count != 1 else ''} were changed to lead there."
    return "Moved." + (links if count else "")


def _redirect_to(project: Project, path: str) -> HttpResponse:
    """Go to the note; to the folder, if that or a file was moved."""
    if find_note(project.pk, path):
        return redirect("library-note", project.slug, path)
    folder = path.rstrip("/")
    response = redirect("library", project.slug)
    response["Location"] += f"?{urlencode({'folder': folder})}"
    return response
