"""Fragments of the chat page that htmx fetches one by one."""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import escape
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from agents.models import AgentRun
from agents.projects.queries import runs_for
from agents.runtime import list_modes
from agents.tools.registry import TOOLS
from agents.web.requests import HtmxRequest, get_user, sign_in_required
from agents.web.tool_titles import get_title
from chat.conversations import queries, tree
from chat.errors import ChatError
from chat.markdown.heading_order import order_headings
from chat.rendering import quota, thread
from chat.rendering.call_details import list_hits
from chat.rendering.card_templates import has_own_card
from chat.rendering.code_calls import read_code_call
from chat.rendering.fragments import BlockRef
from chat.rendering.tool_call import StoredToolCall, load_tool_call
from chat.services.run_changes import changes_for
from chat.views.chat import sidebar_context
from chat.views.helpers import get_conversation_or_404

_fragment = sign_in_required(htmx_status=204)
"""Whoever was signed out gets nothing, and keeps the page that they have."""


@never_cache
@_fragment
@require_GET
def conversation_list(request: HttpRequest) -> HttpResponse:
    """Show the sidebar's list."""
    current = request.GET.get("current", "")
    context = sidebar_context(get_user(request), _parse_project(request), None)
    return render(
        request, "chat/fragments/_conversation_list.html", {**context, "current": current}
    )


@never_cache
@_fragment
@require_GET
def mode_sentence(request: HttpRequest) -> HttpResponse:
    """Say what the mode does that somebody has chosen in the composer."""
    chosen = request.GET.get("tree", "")
    modes = {mode.name: mode.description for mode in list_modes(get_user(request))}
    return HttpResponse(escape(modes.get(chosen, "")))


def _parse_project(request: HttpRequest) -> UUID | None:
    try:
        return UUID(request.GET.get("project", ""))
    except ValueError:
        return None


@never_cache
@_fragment
@require_GET
@quota.limit_rendering
def earlier_exchanges(
    request: HttpRequest, conversation_id: UUID, exchange_id: UUID
) -> HttpResponse:
    """Show the exchanges before the ones that a page has."""
    shown = get_conversation_or_404(request, conversation_id)
    try:
        last = queries.get_exchange(get_user(request), exchange_id, conversation_id=shown.pk)
    except ChatError as error:
        raise Http404(str(error)) from None
    rows = tree.get_path_segment(last.pk).exchanges
    context = {
        "conversation": shown,
        "earlier": rows[0].parent_id if rows else None,
        "exchanges": thread.render_exchanges(rows),
    }
    return render(request, "chat/fragments/_earlier_exchanges.html", context)


@never_cache
@_fragment
@require_GET
def tool_call(request: HtmxRequest, run_id: UUID, number: int) -> HttpResponse:
    """Show what a tool call got and gave."""
    run = _get_own_run(request, run_id)
    found = load_tool_call(run.pk, number) if run is not None else None
    if run is None or found is None:
        raise Http404("You have no such call.")
    whole = "all" in request.GET
    template = "chat/fragments/_call.html" if request.htmx else "chat/pages/call.html"
    context = {"call": found, "run": run, "number": number, "whole": whole}
    context["title"] = get_title(found.call.name)
    return render(request, template, {**context, **_details_context(run, found)})


def _details_context(run: AgentRun, found: StoredToolCall) -> dict[str, Any]:
    """Return what a card shows above the arguments: what was found, or what was changed. Where
    there is any, the arguments and the result itself are folded."""
    name = found.call.name
    if found.result is None or not found.result.ok or name not in TOOLS:
        return {}
    own = has_own_card(name)
    if not TOOLS.get(name).writes:
        hits = list_hits(run.project_id, name, found.text)
        told = read_code_call(run.project_id, name, found.text)
        return {"hits": hits, **told, "is_folded": own or bool(hits) or told["is_told"]}
    changes = changes_for(run, found.call.id)
    return {
        "changes": changes,
        "undoable": changes.undoable,
        "call_id": found.call.id,
        "message": "",
        "is_folded": own or bool(changes),
    }


@never_cache
@_fragment
@require_GET
@quota.limit_rendering
def rest_of_answer(request: HtmxRequest, run_id: UUID, part: int, block: int) -> HttpResponse:
    """Show what comes after the beginning of a long answer."""
    run = _get_own_run(request, run_id)
    found = (
        thread.get_rendered_answer(run).rest.get(BlockRef(part, block)) if run is not None else None
    )
    if found is None:
        raise Http404("There is no more of this answer.")
    if request.htmx:
        return HttpResponse(found)
    rest, _ = order_headings(found)  # what they were below is not on this page
    return render(request, "chat/pages/rest.html", {"run": run, "rest": rest})


def _get_own_run(request: HttpRequest, run_id: UUID) -> AgentRun | None:
    return runs_for(get_user(request)).filter(pk=run_id).first()
