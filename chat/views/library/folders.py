"""Folders of a project."""

from urllib.parse import quote, urlencode

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from agents.models import Project
from agents.vault.notes import notes_for
from chat.library.folder_entries import FolderEntries, build_crumbs
from chat.views.current_project import get_current_project
from chat.views.library.helpers import library_page, render_page

PAGE_SIZE = 100
RECENT_COUNT = 6


@never_cache
@login_required
@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """Show the library of the project that one works in."""
    project = get_current_project(request)
    return redirect("library", project.slug) if project else redirect("projects")


@require_GET
@library_page()
def folder(request: HttpRequest, project: Project) -> HttpResponse:
    """Show what lies in a folder, a page at a time."""
    shown = request.GET.get("folder", "").strip().strip("/")
    entries = FolderEntries(project.pk, shown)
    page = Paginator(entries, PAGE_SIZE).get_page(request.GET.get("page"))
    recent = notes_for(project.pk).defer("text").order_by("-updated_at", "path")
    is_start = not shown and page.number == 1 and len(entries) > RECENT_COUNT
    context = {
        "folder": shown,
        "crumbs": build_crumbs(shown),
        "page": page,
        "pages_of": f"{urlencode({'folder': shown}, quote_via=quote)}&" if shown else "",
        "recent": recent[:RECENT_COUNT] if is_start else (),
    }
    return render_page(request, project, "chat/library/folder.html", context)
