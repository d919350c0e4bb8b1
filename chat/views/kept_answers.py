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
from chat.library.thread_changes import READ_ONLY_MESSAGE, push_answer
from chat.rendering.source_links import link_entry

MAX_SUGGESTED = 50
STILL_RUNNING = "The run is still in progress; keep its answer when it has ended."


@never_cache
@sign_in_required(htmx_status=204)
@require_http_methods(["GET", "POST"])
def keep_answer(request: HtmxRequest, run_id: UUID) -> HttpResponse:
    """Show what would be kept and where; by POST, keep it."""
    user = get_user(request)
    run = runs_for(user).select_related("project").filter(pk=run_id).first()
    if run is None:
        raise Http404("You have no such run.")
    context: dict[str, Any] = {"run": run, "why_not": _find_obstacle(request, run)}
    if request.method == "POST" and not context["why_not"]:
        form = {name: request.POST.get(name, "") for name in ("name", "text", "kind")}
        try:
            entry = NewEntry(form["text"], form["kind"])
            kept = push_answer(user, run, form["name"], entry)
            url = link_entry(run.project_id, kept.thread.name, kept.number)
            context |= {"kept": kept, "kept_url": url}
        except (ThreadRefused, ProjectForbidden) as error:
            form["refusal"] = str(error)
    else:
        form = {"text": run.answer}
    if "kept" not in context:
        context |= {
            "form": form,
            "kinds": ThreadEntry.Kind.choices,
            "threads": list_recent_threads(run.project_id, MAX_SUGGESTED),
        }
    template = "chat/fragments/_keep.html" if request.htmx else "chat/pages/keep.html"
    return render(request, template, context, status=422 if "refusal" in form else 200)


def _find_obstacle(request: HtmxRequest, run: AgentRun) -> str:
    """Say why an answer cannot be kept; empty if it can."""
    if run.outcome is None:
        return STILL_RUNNING
    return "" if can_write(get_user(request), run.project) else READ_ONLY_MESSAGE
