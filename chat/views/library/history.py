"""The history of a note."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from agents.models import Project
from agents.vault.errors import NoteChanged
from agents.vault.notes import get_note
from agents.vault.paths import get_folder
from agents.vault.versions import diff_versions, get_version, history_for, restore_version
from agents.web.requests import get_user
from chat.library.folder_entries import build_crumbs
from chat.library.note_history import describe_author, describe_versions
from chat.views.library.helpers import get_author, library_page, parse_number, render_page

PAGE_SIZE = 50
CHANGED_MESSAGE = (
    "The note has changed in the meantime, so nothing was done. Check it, then decide."
)


@require_GET
@library_page()
def history(request: HttpRequest, project: Project, path: str) -> HttpResponse:
    """Show the versions of a note, newest first."""
    note = get_note(project.pk, path)
    page = Paginator(history_for(note), PAGE_SIZE).get_page(request.GET.get("page"))
    entries = describe_versions(list(page), note.version, get_user(request))
    crumbs = build_crumbs(get_folder(note.path))
    context = {"note": note, "page": page, "entries": entries, "crumbs": crumbs}
    return render_page(request, project, "chat/library/history.html", context)


@require_GET
@library_page()
def version(request: HttpRequest, project: Project, number: int, path: str) -> HttpResponse:
    """Show what a version changed, or how the note differs from it now."""
    note = get_note(project.pk, path)
    shown = get_version(note, number)
    is_to_now = request.GET.get("to") == "now" and number != note.version
    old, new = (number, note.version) if is_to_now else (number - 1, number)
    context = {
        "note": note,
        "version": shown,
        "who": describe_author(shown),
        "is_to_now": is_to_now,
        "is_current": number == note.version,
        "diff": diff_versions(note, old, new),
        "crumbs": build_crumbs(get_folder(note.path)),
    }
    return render_page(request, project, "chat/library/version.html", context)


@require_POST
@library_page(writes=True)
def restore(request: HttpRequest, project: Project, number: int, path: str) -> HttpResponse:
    """Give a note the text of an earlier version, as a new one."""
    note = get_note(project.pk, path)
    expected = parse_number(request.POST.get("version"))
    try:
        restore_version(note, number, get_author(request), expected_version=expected)
    except NoteChanged:
        messages.error(request, CHANGED_MESSAGE)
        return redirect("library-history", project.slug, note.path)
    messages.success(request, f"The text of version {number} is back, as a new version.")
    return redirect("library-note", project.slug, note.path)
