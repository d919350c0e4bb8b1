"""Threads of a project: the list, the page of one, writing, archiving, withdrawing."""

from typing import Any
from urllib.parse import quote, urlencode
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from agents.models import Project, Thread, ThreadEntry
from agents.projects.errors import ProjectError
from agents.projects.queries import get_project
from agents.vault.errors import ThreadRefused, VaultError
from agents.vault.thread_names import make_name_key
from agents.vault.threads import NewEntry, get_thread, push_entry, set_status, threads_for
from agents.web.requests import HtmxRequest, get_user
from chat.library.thread_changes import withdraw_entry
from chat.library.thread_page import build_thread_page
from chat.rendering import quota
from chat.views.library.helpers import get_author, library_page, parse_number, render_page

PAGE_SIZE = 50
MAX_FILTER_LENGTH = 120
PARTIAL = "chat/library/partials/_thread_entries.html"
Status = Thread.Status


def _render_page(
    request: HttpRequest, project: Project, name: str, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    kinds = ThreadEntry.Kind.choices
    context = {"part": "threads", "kinds": kinds, **context}
    return render_page(request, project, name, context, status)


@require_GET
@library_page()
def thread_list(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the threads of a project, newest first: active or archived, by name if wanted."""
    wanted = request.GET.get("name", "").replace("\0", "").strip()[:MAX_FILTER_LENGTH]
    status = Status.ARCHIVED if request.GET.get("status") == Status.ARCHIVED else Status.ACTIVE
    found = threads_for(project.pk).filter(key__contains=make_name_key(wanted))
    page = Paginator(found.filter(status=status), PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "page": page,
        "pages_of": f"{urlencode({'status': status, 'name': wanted}, quote_via=quote)}&",
        "status": status,
        "wanted": wanted,
    }
    return _render_page(request, project, "chat/library/threads.html", context)


@never_cache
@login_required
@require_GET
@quota.limit_rendering
def cited_thread(request: HttpRequest, project_id: UUID, name: str) -> HttpResponse:
    """Show a thread where answers cite it: by the project's id, which never changes."""
    try:
        project = get_project(get_user(request), project_id)
        return _render_thread(request, project, get_thread(project.pk, name))
    except ProjectError as error:
        raise Http404(str(error)) from None
    except VaultError:
        raise Http404("There is no such thread.") from None


@require_GET
@library_page()
@quota.limit_rendering
def thread(request: HttpRequest, project: Project, name: str) -> HttpResponse:
    """Show a page of a thread's entries."""
    return _render_thread(request, project, get_thread(project.pk, name))


def _render_thread(
    request: HttpRequest,
    project: Project,
    shown: Thread,
    form: dict[str, str] | None = None,
    *,
    is_partial: bool = False,
) -> HttpResponse:
    built = build_thread_page(
        get_user(request),
        project,
        shown,
        number=parse_number(request.GET.get("entry")),
        page=request.GET.get("page"),
    )
    context = {
        "thread": shown,
        "entries": built.entries,
        "page": built.page,
        "form": form or {},
    }
    name = PARTIAL if is_partial else "chat/library/thread.html"
    status = 422 if form and "refusal" in form else 200
    return _render_page(request, project, name, context, status)


@require_POST
@library_page(writes=True)
@quota.limit_rendering
def push(request: HtmxRequest, project: Project, name: str) -> HttpResponse:
    """Add an entry to a thread. What cannot be taken stays in the form, with the reason."""
    form = _read_form(request)
    try:
        push_entry(project.pk, name, NewEntry(form["text"], form["kind"]), get_author(request))
        form = {"said": "Added."}
    except ThreadRefused as error:
        form["refusal"] = str(error)
    shown = get_thread(project.pk, name)
    if "refusal" not in form and not request.htmx:
        return redirect("library-thread", project.slug, shown.name)
    return _render_thread(request, project, shown, form, is_partial=bool(request.htmx))


def _read_form(request: HttpRequest) -> dict[str, str]:
    given = request.POST if request.method == "POST" else request.GET
    return {name: given.get(name, "") for name in ("name", "text", "kind")}


@library_page(writes=True)
def new_thread(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the form of a new thread, which begins with its first entry."""
    form = _read_form(request)
    if request.method == "POST":
        try:
            entry = NewEntry(form["text"], form["kind"])
            made = push_entry(project.pk, form["name"], entry, get_author(request))
            return redirect("library-thread", project.slug, made.thread.name)
        except ThreadRefused as error:
            form["refusal"] = str(error)
    status = 422 if "refusal" in form else 200
    return _render_page(request, project, "chat/library/new_thread.html", {"form": form}, status)


@require_POST
@library_page(writes=True)
def change_status(request: HttpRequest, project: Project, name: str) -> HttpResponse:
    """Archive a thread, or make it active again."""
    is_archiving = request.POST.get("status") == Status.ARCHIVED
    changed = set_status(project.pk, name, Status.ARCHIVED if is_archiving else Status.ACTIVE)
    messages.success(request, "Archived." if is_archiving else "Active again.")
    return redirect("library-thread", project.slug, changed.name)


@require_POST
@library_page(writes=True)
def withdraw(request: HttpRequest, project: Project, name: str, number: int) -> HttpResponse:
    """Withdraw an entry: its number stays, its text is shown to nobody."""
    shown = get_thread(project.pk, name)
    withdraw_entry(get_user(request), project, shown, number)
    messages.success(request, f"Entry {number} is withdrawn.")
    address = reverse("library-thread", args=[project.slug, shown.name])
    return redirect(f"{address}?entry={number}#entry-{number}")
