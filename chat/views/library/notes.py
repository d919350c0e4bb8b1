"""The page of a note; a new one, and changes of its text."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from agents.code.listing import find_code_file
from agents.models import Note, Project
from agents.projects.errors import ProjectError
from agents.projects.queries import can_write, get_project
from agents.vault.diffs import diff_texts
from agents.vault.errors import NoteChanged, NoteRefused, VaultError
from agents.vault.links import find_backlinks
from agents.vault.merge import merge_texts
from agents.vault.notes import create_note, get_note, save_note
from agents.vault.paths import NOTE_SUFFIX, get_folder
from agents.web.requests import get_user
from chat.library.edited_text import apply_edit, make_editable
from chat.library.folder_entries import build_crumbs
from chat.library.note_page import MAX_LISTED, build_note_page
from chat.rendering import quota
from chat.views.library.helpers import get_author, library_page, parse_number, render_page

MAX_EDITABLE_BYTES = 800_000
"""The server takes no request of more than 1 MiB, and a form sends more than the text."""
TOO_LONG_MESSAGE = (
    "This note is too long to be edited here. Download it from its page, change it and upload it "
    "again to the same folder: the change becomes a version of it."
)


@never_cache
@login_required
@require_GET
@quota.limit_rendering
def cited_note(request: HttpRequest, project_id: UUID, path: str) -> HttpResponse:
    """Show a note where answers cite it: by the project's id, which never changes."""
    try:
        project = get_project(get_user(request), project_id)
        return _render_note(request, project, path)
    except ProjectError as error:
        raise Http404(str(error)) from None
    except VaultError:
        if find_code_file(project.pk, path):  # a citation does not say which one it means
            return redirect("code", project.pk, path)
        raise Http404("There is no such note.") from None


@require_GET
@library_page()
@quota.limit_rendering
def note(request: HttpRequest, project: Project, path: str) -> HttpResponse:
    """Show a note, as it is now."""
    return _render_note(request, project, path)


def _render_note(request: HttpRequest, project: Project, path: str) -> HttpResponse:
    shown = get_note(project.pk, path)
    block, line = (parse_number(request.GET.get(name)) for name in ("block", "line"))
    page = build_note_page(
        project,
        shown.path,
        shown.text,
        block=block,
        line=line,
        anchor=request.GET.get("at", ""),
        can_write=can_write(get_user(request), project),
    )
    context = {
        **_build_context(shown),
        "shown": page,
        "backlinks": find_backlinks(shown, MAX_LISTED),
    }
    return render_page(request, project, "chat/library/note.html", context)


def _build_context(shown: Note) -> dict[str, Any]:
    return {"note": shown, "crumbs": build_crumbs(get_folder(shown.path))}


@library_page(writes=True)
def new(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the form of a new note; where a link asks for it, with the path that the link has."""
    given = request.POST if request.method == "POST" else request.GET
    path, text = given.get("path", "").strip(), given.get("text", "")
    context = {"path": path, "text": make_editable(text), "folder": given.get("folder", "")}
    if request.method == "POST":
        try:
            made = create_note(
                project.pk, _add_suffix(path), text.replace("\r\n", "\n"), get_author(request)
            )
            return redirect("library-note", project.slug, made.path)
        except NoteRefused as error:
            context["refusal"] = str(error)
    status = 422 if "refusal" in context else 200
    return render_page(request, project, "chat/library/new.html", context, status)


def _add_suffix(path: str) -> str:
    return path if not path or path.endswith(NOTE_SUFFIX) else path + NOTE_SUFFIX


@library_page(writes=True)
def edit(request: HttpRequest, project: Project, path: str) -> HttpResponse:
    """Change a note's text. The form carries the version that it began with."""
    shown = get_note(project.pk, path)
    if shown.size > MAX_EDITABLE_BYTES:
        raise NoteRefused(TOO_LONG_MESSAGE)
    context: dict[str, Any] = {"text": make_editable(shown.text), "version": shown.version}
    if request.method != "POST":
        return _render_editor(request, project, shown, context)
    text = apply_edit(shown.text, request.POST.get("text", ""))
    version = parse_number(request.POST.get("version"))
    try:
        save_note(project.pk, path, text, get_author(request), expected_version=version)
    except NoteChanged as conflict:
        return _render_conflict(request, project, shown, conflict)
    except NoteRefused as error:
        context = {"text": make_editable(text), "version": version, "refusal": str(error)}
        return _render_editor(request, project, shown, context, status=422)
    messages.success(request, "Saved.")
    return redirect("library-note", project.slug, shown.path)


def _render_editor(
    request: HttpRequest, project: Project, shown: Note, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    context = {**_build_context(shown), **context}
    return render_page(request, project, "chat/library/edit.html", context, status)


def _render_conflict(
    request: HttpRequest, project: Project, shown: Note, conflict: NoteChanged
) -> HttpResponse:
    """Show all three texts, and what they give together. Nothing is stored yet, nothing is lost."""
    merged = merge_texts(conflict.base, conflict.yours, conflict.theirs)
    context = {
        "text": make_editable(merged.text),
        "version": conflict.version,
        "conflict": conflict,
        "conflict_count": merged.conflict_count,
        "theirs": diff_texts(conflict.base, conflict.theirs),
        "yours": diff_texts(conflict.base, conflict.yours),
        "yours_text": make_editable(conflict.yours),
    }
    return _render_editor(request, project, shown, context, status=409)


@require_POST
@library_page(writes=True)
@quota.limit_rendering
def preview(request: HttpRequest, project: Project) -> HttpResponse:
    """Show what a text looks like that is not saved yet."""
    path = request.POST.get("path", "").replace("\0", "").strip()[:500]
    text = request.POST.get("text", "").replace("\0", "").replace("\r\n", "\n")
    context = {"shown": build_note_page(project, path or "new.md", text, can_write=True)}
    return render_page(request, project, "chat/library/partials/_preview.html", context)
