"""Keeping an answer, or a passage of it, in a thread of the project."""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from agents.models import AgentRun, ThreadEntry
from agents.projects.errors import ProjectForbidden
from agents.projects.queries import can_write, runs_for
from agents.vault.errors import ThreadRefused
from agents.vault.project_threads import list_recent_threads
from agents.vault.threads import NewEntry
from agents.web.requests import HtmxRequest, get_user, sign_in_required
from chat.library.thread_changes import (
    READ_ONLY_MESSAGE,
    choose_thread,
    push_answer,
    withdraw_entry,
)
from chat.rendering.source_links import link_entry
from chat.views.library.helpers import parse_number

MAX_SUGGESTED = 50
STILL_RUNNING = "The run is still in progress; keep its answer when it has ended."


@never_cache
@sign_in_required(htmx_status=204)
@require_http_methods(["GET", "POST"])
def keep_answer(request: HtmxRequest, run_id: UUID) -> HttpResponse:
    """Show what would be kept and where; by POST, keep it, or take back what was kept.

    Without a name of a thread it is kept where answers were kept before.
    """
    user = get_user(request)
    run = runs_for(user).select_related("project").filter(pk=run_id).first()
    if run is None:
        raise Http404("You have no such run.")
    context: dict[str, Any] = {"run": run, "why_not": _find_obstacle(request, run)}
    if context["why_not"] or request.method == "GET":
        context["form"] = {"text": run.answer}
    elif "entry" in request.POST:
        context |= _take_back(request, run)
    else:
        context |= _keep(request, run)
    form = context.get("form")
    if form is not None:
        context["kinds"] = ThreadEntry.Kind.choices
        context["threads"] = list_recent_threads(run.project_id, MAX_SUGGESTED)
    template = "chat/fragments/_keep.html" if request.htmx else "chat/pages/keep.html"
    status = 422 if form and "refusal" in form else 200
    return render(request, template, context, status=status)


def _keep(request: HtmxRequest, run: AgentRun) -> dict[str, Any]:
    """Keep what was given; return what to show: the entry, or the form with the reason."""
    user = get_user(request)
    form = {name: request.POST.get(name, "") for name in ("name", "text", "kind")}
    if "name" not in request.POST:
        form = {
            "name": choose_thread(user, run),
            "text": form["text"] or run.answer,
            "kind": form["kind"] or ThreadEntry.Kind.THOUGHT,
        }
    try:
        kept = push_answer(user, run, form["name"], NewEntry(form["text"], form["kind"]))
    except (ThreadRefused, ProjectForbidden) as error:
        return {"form": {**form, "refusal": str(error)}}
    return {"kept": kept, "kept_url": link_entry(run.project_id, kept.thread.name, kept.number)}


def _take_back(request: HtmxRequest, run: AgentRun) -> dict[str, Any]:
    """Withdraw what was kept of an answer; if it shall go elsewhere, return the form for that."""
    user, pk = get_user(request), parse_number(request.POST["entry"])
    mine = ThreadEntry.objects.filter(user=user, run=run, thread__project=run.project_id)
    entry = mine.select_related("thread").filter(pk=pk).first()
    if entry is None:
        raise Http404("You kept no such entry.")
    withdraw_entry(user, run.project, entry.thread, entry.number)
    if request.POST.get("then") == "elsewhere":
        return {"form": {"text": entry.text, "kind": entry.kind}}
    return {"is_undone": True}


def _find_obstacle(request: HtmxRequest, run: AgentRun) -> str:
    """Say why an answer cannot be kept; empty if it can."""
    if run.outcome is None:
        return STILL_RUNNING
    return "" if can_write(get_user(request), run.project) else READ_ONLY_MESSAGE
