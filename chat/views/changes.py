"""What a run changed in notes and threads, with a way to take it back."""

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from agents.models import AgentRun
from agents.projects.queries import runs_for
from agents.web.requests import HtmxRequest, get_user, sign_in_required
from chat.errors import InvalidAction
from chat.services.run_changes import changes_for, undo_changes

_fragment = sign_in_required(htmx_status=204)


@never_cache
@_fragment
@require_GET
def run_changes(request: HtmxRequest, run_id: UUID) -> HttpResponse:
    """Show every note that a run changed, with its diff, and every entry that it wrote."""
    return _render_changes(request, _get_run(request, run_id), _get_call(request), "")


@never_cache
@_fragment
@require_POST
def undo(request: HtmxRequest, run_id: UUID) -> HttpResponse:
    """Take back what a run did, or one of its calls."""
    run, call_id = _get_run(request, run_id), _get_call(request)
    try:
        message = undo_changes(get_user(request), run, call_id)
    except InvalidAction as error:
        message = str(error)
    if not request.htmx:
        return redirect("run-changes", run_id=run_id)
    return _render_changes(request, run, call_id, message)


def _get_run(request: HttpRequest, run_id: UUID) -> AgentRun:
    found = runs_for(get_user(request)).select_related("project").filter(pk=run_id).first()
    if found is None:
        raise Http404("You have no such run.")
    return found


def _get_call(request: HttpRequest) -> str | None:
    """Return the id of the call that a request is about; None for the whole run."""
    return (request.POST or request.GET).get("call") or None


def _render_changes(
    request: HtmxRequest, run: AgentRun, call_id: str | None, message: str
) -> HttpResponse:
    changes = changes_for(run, call_id)
    is_summary = call_id is None and "all" not in request.GET and request.htmx
    context = {
        "run": run,
        "call_id": call_id,
        "changes": changes,
        "undoable": changes.undoable,
        "message": message,
        "is_summary": is_summary,
    }
    page = "chat/fragments/_changes.html" if request.htmx else "chat/pages/changes.html"
    return render(request, page, context)
