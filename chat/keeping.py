"""Pages for looking after conversations: search, outline, export, delete with undo."""

from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from asgiref.sync import async_to_sync, sync_to_async
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.text import slugify
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from agents.runtime.home import home
from chat import conversations, tree
from chat.asked import conversation_of, user_of
from chat.errors import ChatError
from chat.export import json_document, markdown_document
from chat.models import Conversation, Exchange
from chat.outline import outline as outline_of
from chat.search import search as search_for

FORMATS = {
    "md": ("text/markdown; charset=utf-8", markdown_document),
    "json": ("application/json", lambda shown: json_document(shown, whole_tree=True)),
}


@never_cache
@login_required
@require_GET
def search(request: HttpRequest) -> HttpResponse:
    query = request.GET.get("q", "").strip()[:200]
    hits = search_for(user_of(request), query) if query else []
    return render(request, "chat/search.html", {"query": query, "hits": hits})


@never_cache
@login_required
@require_GET
def export(request: HttpRequest, conversation_id: UUID, form: str) -> HttpResponse:
    """The whole conversation as a file; read and sent piece by piece."""
    if form not in FORMATS:
        raise Http404("Export as .md or as .json.")
    shown = conversation_of(request, conversation_id)
    kind, document = FORMATS[form]
    name = slugify(shown.title)[:60] or "conversation"
    headers = {"Content-Disposition": f'attachment; filename="{name}.{form}"'}
    return StreamingHttpResponse(_pieces(document(shown)), content_type=kind, headers=headers)  # type: ignore[return-value]


async def _pieces(document: Iterator[str]) -> AsyncIterator[str]:
    """Read in a thread, piece by piece: a long conversation never lies in memory whole."""
    following = sync_to_async(lambda: next(document, None))
    while (piece := await following()) is not None:
        yield piece


@login_required
@require_POST
def delete(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    shown = conversation_of(request, conversation_id)
    for run_id in conversations.delete(shown):
        async_to_sync(home().cancel)(run_id)
    return render(request, "chat/deleted.html", {"conversation": shown})


@login_required
@require_POST
def restore(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Undo a deletion."""
    try:
        conversations.restore(user_of(request), conversation_id)
    except ChatError as error:
        raise Http404(str(error)) from None
    return redirect("conversation", conversation_id)


@never_cache
@login_required
@require_GET
def found(request: HttpRequest, conversation_id: UUID, exchange_id: UUID) -> HttpResponse:
    """To an exchange: in the thread if it is shown there, else in the outline, to go there."""
    shown = conversation_of(request, conversation_id)
    is_shown = any(row.pk == exchange_id for row in tree.stretch(shown.head_id).exchanges)
    response = redirect("conversation" if is_shown else "outline", shown.pk)
    response["Location"] += f"#x{exchange_id.hex}"
    return response


@never_cache
@login_required
@require_GET
def outline(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """The tree as a nested list: move, label, mark, prune."""
    shown = conversation_of(request, conversation_id)
    context = {
        "conversation": shown,
        "items": outline_of(shown),
        "prunable": len(tree.prunable(shown)),
        "undo": request.GET.get("undo", ""),
    }
    return render(request, "chat/outline.html", context)


@login_required
@require_POST
def tend(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """One change of the tree, then back to the outline; or to where the reader went by it."""
    shown = conversation_of(request, conversation_id)
    change = CHANGES.get(request.POST.get("do", ""))
    if change is None:
        raise Http404("There is no such change.")
    try:
        extra = change(shown, request.POST)
    except ChatError as error:
        messages.error(request, str(error))
        return redirect("outline", shown.pk)
    home().nudge(shown.pk)
    response = redirect("conversation" if change is _checkout else "outline", shown.pk)
    response["Location"] += extra
    return response


def _checkout(shown: Conversation, given: Any) -> str:
    tree.checkout(shown, _exchange(shown, given).pk)
    return ""


def _label(shown: Conversation, given: Any) -> str:
    tree.set_label(_exchange(shown, given), given.get("label", ""))
    return ""


def _mark(shown: Conversation, given: Any) -> str:
    tree.set_checkpoint(_exchange(shown, given), given.get("checkpoint") == "yes")
    return ""


def _prune(shown: Conversation, given: Any) -> str:
    return "?" + urlencode({"undo": tree.prune(shown).at.isoformat()})


def _undo(shown: Conversation, given: Any) -> str:
    try:
        at = datetime.fromisoformat(given.get("at", ""))
        at.astimezone(UTC)  # near the ends of time it cannot be
    except (ValueError, OverflowError):
        raise Http404("There is nothing to undo.") from None
    if at.tzinfo is None:
        raise Http404("There is nothing to undo.")
    tree.undo_prune(shown, at)
    return ""


CHANGES: dict[str, Callable[[Conversation, Any], str]] = {
    "checkout": _checkout,
    "label": _label,
    "mark": _mark,
    "prune": _prune,
    "undo": _undo,
}


def _exchange(shown: Conversation, given: Any) -> Exchange:
    try:
        pk = UUID(given.get("exchange", ""))
    except ValueError:
        raise Http404("There is no such exchange.") from None
    found = Exchange.objects.filter(conversation=shown, pk=pk).first()
    if found is None:
        raise Http404("There is no such exchange in this conversation.")
    return found
