"""What is deleted, and how it comes back."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from agents.models import Project
from agents.vault.attachments import (
    delete_attachment,
    get_attachment,
    restore_attachment,
    trashed_attachments_for,
)
from agents.vault.errors import NoteChanged, NoteExists
from agents.vault.notes import delete_note, restore_note, trash_for
from chat.views.library.helpers import get_author, library_page, parse_number, render_page
from chat.views.library.history import CHANGED_MESSAGE

PAGE_SIZE = 50
MAX_FILES = 200
TAKEN_MESSAGE = "Something else has its path now. Move that first, then restore this."


@require_POST
@library_page(writes=True)
def delete(request: HttpRequest, project: Project, path: str) -> HttpResponse:
    """Move a note to the trash."""
    expected = parse_number(request.POST.get("version"))
    try:
        gone = delete_note(project.pk, path, get_author(request), expected_version=expected)
    except NoteChanged:
        messages.error(request, CHANGED_MESSAGE)
        return redirect("library-note", project.slug, path)
    return _announce_deletion(request, project, gone.path)


@require_POST
@library_page(writes=True)
def delete_file(request: HttpRequest, project: Project, path: str) -> HttpResponse:
    """Move a file that is not a note to the trash."""
    found = get_attachment(project.pk, path)
    delete_attachment(found)
    return _announce_deletion(request, project, found.path)


def _announce_deletion(request: HttpRequest, project: Project, path: str) -> HttpResponse:
    messages.success(request, f"{path} is in the trash. It can be restored from there.")
    return redirect("library-trash", project.slug)


@require_GET
@library_page()
def trash(request: HttpRequest, project: Project) -> HttpResponse:
    """What was deleted, newest first: files, then notes."""
    deleted = trash_for(project.pk).defer("text")
    page = Paginator(deleted, PAGE_SIZE).get_page(request.GET.get("page"))
    files = trashed_attachments_for(project.pk)[:MAX_FILES] if page.number == 1 else ()
    context = {"page": page, "files": files}
    return render_page(request, project, "chat/library/trash.html", context)


@require_POST
@library_page(writes=True)
def restore_deleted(request: HttpRequest, project: Project, note_id: int) -> HttpResponse:
    """Bring a note back from the trash."""
    try:
        note = restore_note(project.pk, note_id, get_author(request))
    except NoteExists:
        messages.error(request, TAKEN_MESSAGE)
        return redirect("library-trash", project.slug)
    messages.success(request, f"{note.path} is back.")
    return redirect("library-note", project.slug, note.path)


@require_POST
@library_page(writes=True)
def restore_file(request: HttpRequest, project: Project, file_id: int) -> HttpResponse:
    """Bring a file back from the trash."""
    try:
        found = restore_attachment(project.pk, file_id)
    except NoteExists:
        messages.error(request, TAKEN_MESSAGE)
    else:
        messages.success(request, f"{found.path} is back.")
    return redirect("library-trash", project.slug)
