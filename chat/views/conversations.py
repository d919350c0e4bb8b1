"""Pages for looking after conversations: search, outline, export, delete with undo."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.text import slugify
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from agents.runtime import get_runtime
from agents.web.requests import get_user
from agents.web.streaming import stream_download
from chat.conversations import commands, tree
from chat.conversations.outline import build_outline as outline_of
from chat.conversations.search import search_conversations as search_for
from chat.errors import ChatError
from chat.export import json_document, markdown_document
from chat.models import Conversation, Exchange
from chat.views.current_project import get_current_project
from chat.views.helpers import get_conversation_or_404

FORMATS = {
    "md": ("text/markdown; charset=utf-8", markdown_document),
    "json": ("application/json", lambda shown: json_document(shown, whole_tree=True)),
}


@never_cache
@login_required
@require_GET
def search(request: HttpRequest) -> HttpResponse:
    """Search the conversations of the project that one works in; of all with `everywhere`."""
    query = request.GET.get("q", "").strip()[:200]
    everywhere = "everywhere" in request.GET
    project = get_current_project(request)
    within = project.pk if project is not None and not everywhere else None
    hits = search_for(get_user(request), query, project_id=within) if query else []
    context = {"query": query, "hits": hits, "project": project, "everywhere": everywhere}
    return render(request, "chat/pages/search.html", context)


@never_cache
@login_required
@require_GET
def export(request: HttpRequest, conversation_id: UUID, form: str) -> HttpResponse:
    """Return the whole conversation as a file; read and sent piece by piece."""
    if form not in FORMATS:
        raise Http404("Export as .md or as .json.")
    shown = get_conversation_or_404(request, conversation_id)
    kind, document = FORMATS[form]
    name = slugify(shown.title)[:60] or "conversation"
    response: HttpResponse = stream_download(document(shown), kind, f"{name}.{form}")
    return response


@login_required
@require_POST
def delete(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    shown = get_conversation_or_404(request, conversation_id)
    for run_id in commands.delete(shown):
        async_to_sync(get_runtime().cancel)(run_id)
    return render(request, "chat/pages/deleted.html", {"conversation": shown})


@login_required
@require_POST
def restore(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Undo a deletion."""
    try:
        commands.restore(get_user(request), conversation_id)
    except ChatError as error:
        raise Http404(str(error)) from None
    return redirect("conversation", conversation_id)


@never_cache
@login_required
@require_GET
def go_to_exchange(request: HttpRequest, conversation_id: UUID, exchange_id: UUID) -> HttpResponse:
    """Go to an exchange: in the thread if it is shown there, else in the outline."""
    shown = get_conversation_or_404(request, conversation_id)
    is_shown = any(row.pk == exchange_id for row in tree.get_path_segment(shown.head_id).exchanges)
    response = redirect("conversation" if is_shown else "outline", shown.pk)
    response["Location"] += f"#x{exchange_id.hex}"
    return response


@never_cache
@login_required
@require_GET
def outline(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Show the tree as a nested list: move, label, mark, prune."""
    shown = get_conversation_or_404(request, conversation_id)
    context = {
        "conversation": shown,
        "items": outline_of(shown),
        "prunable": len(tree.find_prunable(shown)),
        "undo": request.GET.get("undo", ""),
    }
    return render(request, "chat/pages/outline.html", context)


@login_required
@require_POST
def outline_action(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Change the tree once, then go back to the outline, or to where the reader went by it."""
    shown = get_conversation_or_404(request, conversation_id)
    change = ACTIONS.get(request.POST.get("do", ""))
    if change is None:
        raise Http404("There is no such change.")
    try:
        extra = change(shown, request.POST)
    except ChatError as error:
        messages.error(request, str(error))
        return redirect("outline", shown.pk)
    get_runtime().notify_changed(shown.pk)
    response = redirect("conversation" if change is _checkout else "outline", shown.pk)
    response["Location"] += extra
    return response


def _checkout(shown: Conversation, given: Any) -> str:
    tree.checkout(shown, _get_exchange(shown, given).pk)
    return ""


def _set_label(shown: Conversation, given: Any) -> str:
    tree.set_label(_get_exchange(shown, given), given.get("label", ""))
    return ""


def _set_checkpoint(shown: Conversation, given: Any) -> str:
    tree.set_checkpoint(_get_exchange(shown, given), given.get("checkpoint") == "yes")
    return ""


def _prune(shown: Conversation, given: Any) -> str:
    return "?" + urlencode({"undo": tree.prune(shown).at.isoformat()})


def _undo_prune(shown: Conversation, given: Any) -> str:
    try:
        at = datetime.fromisoformat(given.get("at", ""))
        at.astimezone(UTC)  # near the ends of time it cannot be
    except (ValueError, OverflowError):
        raise Http404("There is nothing to undo.") from None
    if at.tzinfo is None:
        raise Http404("There is nothing to undo.")
    tree.undo_prune(shown, at)
    return ""


ACTIONS: dict[str, Callable[[Conversation, Any], str]] = {
    "checkout": _checkout,
    "label": _set_label,
    "mark": _set_checkpoint,
    "prune": _prune,
    "undo": _undo_prune,
}


def _get_exchange(shown: Conversation, given: Any) -> Exchange:
    try:
        pk = UUID(given.get("exchange", ""))
    except ValueError:
        raise Http404("There is no such exchange.") from None
    found = Exchange.objects.filter(conversation=shown, pk=pk).first()
    if found is None:
        raise Http404("There is no such exchange in this conversation.")
    return found
