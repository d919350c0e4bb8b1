"""Folders and files of a project's code."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from agents.code.listing import checkouts_for, get_code_file
from agents.code.service import CodeUnavailable
from agents.models import CodeFile, Project
from agents.projects.errors import ProjectError
from agents.projects.queries import get_project
from agents.vault.attachments import get_attachment
from agents.vault.errors import VaultError
from agents.web.requests import get_user
from chat.library.code_entries import CodeEntries
from chat.library.code_page import build_code_page
from chat.library.folder_entries import build_crumbs
from chat.rendering import quota
from chat.views.library.helpers import clean, library_page, parse_number, render_page

PAGE_SIZE = 100


@require_GET
@library_page()
def folder(request: HttpRequest, project: Project) -> HttpResponse:
    """Show what lies in a folder of code, a page at a time."""
    shown = clean(request.GET.get("folder", "")).strip("/")
    page = Paginator(CodeEntries(project.pk, shown), PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "part": "code",
        "code_folder": shown,
        "crumbs": build_crumbs(shown),
        "page": page,
        "pages_of": f"{urlencode({'folder': shown})}&" if shown else "",
        "checkouts": checkouts_for(project.pk) if not shown and page.number == 1 else (),
    }
    return render_page(request, project, "chat/library/code/folder.html", context)


@require_GET
@library_page()
@quota.limit_rendering
def file(request: HttpRequest, project: Project, path: str) -> HttpResponse:
    """Show a file, some hundred lines at a time."""
    return _render_file(request, project, get_code_file(project.pk, path))


@never_cache
@login_required
@require_GET
@quota.limit_rendering
def cited_file(request: HttpRequest, project_id: UUID, path: str) -> HttpResponse:
    """Show a file where answers cite it: by the project's id, which never changes."""
    try:
        project = get_project(get_user(request), project_id)
        return _render_file(request, project, get_code_file(project.pk, path))
    except ProjectError as error:
        raise Http404(str(error)) from None
    except CodeUnavailable as error:
        return _redirect_to_attachment(project, path, error)


def _redirect_to_attachment(project: Project, path: str, error: CodeUnavailable) -> HttpResponse:
    """Go to the file of that path among the notes: a citation does not say which one it means."""
    try:
        found = get_attachment(project.pk, path)
    except VaultError:
        raise Http404(str(error)) from None
    return redirect("library-file", project.slug, found.path)


def _render_file(request: HttpRequest, project: Project, shown: CodeFile) -> HttpResponse:
    context = {
        "part": "code",
        "file": shown,
        "shown": build_code_page(shown, parse_number(request.GET.get("line"))),
        "crumbs": build_crumbs(shown.path.rpartition("/")[0]),
    }
    return render_page(request, project, "chat/library/code/file.html", context)
