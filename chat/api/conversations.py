"""Conversations: the list, one path of exchanges, a title, deleting with undo, taking away."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.http.response import HttpResponseBase

from agents.models.api_tokens import Scope
from agents.web.streaming import stream_download
from chat.api import serializers
from chat.api.framework import ApiRequest, endpoint
from chat.api.runtime import require_runtime, run_db
from chat.api.schemas import (
    ConversationList,
    ConversationPath,
    ConversationView,
    ExchangeView,
    ExportQuery,
    ListedConversation,
    ListQuery,
    PathQuery,
    Rename,
)
from chat.api.throttling import Rate
from chat.conversations import commands, queries, tree
from chat.export import json_document, markdown_document
from chat.export.loader import iter_exchanges
from chat.models import Conversation

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
CONVERSATION_PATH = "conversations/<uuid:conversation_id>"
MEDIA_TYPES = {"json": "application/json", "md": "text/markdown; charset=utf-8"}


@endpoint(
    "GET",
    "conversations",
    "Your conversations, newest first",
    scopes=[Scope.READ],
    query=ListQuery,
    answers=ConversationList,
)
async def list_conversations(request: ApiRequest, query: ListQuery) -> ConversationList:
    return await run_db(lambda: _list_page(request.user, query))


def _list_page(user: User, query: ListQuery) -> ConversationList:
    before = _parse_cursor(query.before) if query.before else None
    found = list(queries.list_recent(user, query.limit + 1, before, query.project))
    shown = found[: query.limit]
    listed = [
        ListedConversation(running=row.running, **_conversation_fields(row))  # type: ignore[attr-defined]  # an annotation
        for row in shown
    ]
    return ConversationList(
        conversations=listed, next=_encode_cursor(shown[-1]) if len(found) > len(shown) else None
    )


def _encode_cursor(row: Conversation) -> str:
    return f"{(row.updated_at - EPOCH) // MICROSECOND}-{row.pk.hex}"


def _parse_cursor(cursor: str) -> tuple[datetime, UUID]:
    at, _, pk = cursor.partition("-")
    return EPOCH + int(at) * MICROSECOND, UUID(pk)


def _conversation_fields(row: Conversation) -> dict[str, Any]:
    return {
        "id": row.pk,
        "project_id": row.project_id,
        "title": row.title,
        "head": row.head_id,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
    }


@endpoint(
    "GET",
    CONVERSATION_PATH,
    "A conversation: the exchanges on the path to HEAD",
    scopes=[Scope.READ],
    query=PathQuery,
    answers=ConversationPath,
)
async def show_conversation(
    request: ApiRequest, conversation_id: UUID, query: PathQuery
) -> ConversationPath:
    return await run_db(lambda: _load_path(request.user, conversation_id, query))


def _load_path(user: User, conversation_id: UUID, query: PathQuery) -> ConversationPath:
    row = queries.get(user, conversation_id)
    upto = row.head_id
    if query.upto is not None:
        upto = queries.get_exchange(user, query.upto, conversation_id=row.pk).pk
    part = tree.get_path_segment(upto, query.limit)
    entries = iter_exchanges([exchange.pk for exchange in part.exchanges])
    exchanges = [
        ExchangeView(
            id=entry.exchange.pk,
            parent=entry.exchange.parent_id,
            label=entry.exchange.label,
            checkpoint=entry.exchange.checkpoint,
            created_at=entry.exchange.created_at,
            run=serializers.serialize_run(entry.run, entry.record),
        )
        for entry in entries
    ]
    return ConversationPath(**_conversation_fields(row), exchanges=exchanges, earlier=part.earlier)


@endpoint(
    "PATCH",
    CONVERSATION_PATH,
    "Rename a conversation",
    scopes=[Scope.ASK],
    rate=Rate.CHANGE,
    takes=Rename,
    answers=ConversationView,
)
async def rename_conversation(
    request: ApiRequest, conversation_id: UUID, body: Rename
) -> ConversationView:
    def rename() -> ConversationView:
        commands.rename(queries.get(request.user, conversation_id), body.title)
        return _load_view(request.user, conversation_id)

    return await _notify_changed(conversation_id, await run_db(rename))


@endpoint(
    "DELETE",
    CONVERSATION_PATH,
    "Delete a conversation; it can be restored",
    scopes=[Scope.ASK],
    rate=Rate.CHANGE,
    answers={204: None},
)
async def delete_conversation(request: ApiRequest, conversation_id: UUID) -> HttpResponseBase:
    """Runs that are going on in it are stopped."""
    going = await run_db(lambda: commands.delete(queries.get(request.user, conversation_id)))
    for run_id in going:
        await require_runtime().cancel(run_id)
    require_runtime().notify_changed(conversation_id)
    return HttpResponse(status=204)


@endpoint(
    "POST",
    f"{CONVERSATION_PATH}/restore",
    "Undo a deletion",
    scopes=[Scope.ASK],
    rate=Rate.CHANGE,
    answers=ConversationView,
)
async def restore_conversation(request: ApiRequest, conversation_id: UUID) -> ConversationView:
    def restore() -> ConversationView:
        commands.restore(request.user, conversation_id)
        return _load_view(request.user, conversation_id)

    return await _notify_changed(conversation_id, await run_db(restore))


def _load_view(user: User, conversation_id: UUID) -> ConversationView:
    return ConversationView.model_validate(_conversation_fields(queries.get(user, conversation_id)))


async def _notify_changed(conversation_id: UUID, view: ConversationView) -> ConversationView:
    require_runtime().notify_changed(conversation_id)  # pages that show it
    return view


@endpoint(
    "GET",
    f"{CONVERSATION_PATH}/export",
    "Export a conversation: the whole tree as JSON, or the path to HEAD as Markdown",
    scopes=[Scope.READ],
    query=ExportQuery,
    answers={200: "application/json, text/markdown"},
)
async def export_conversation(
    request: ApiRequest, conversation_id: UUID, query: ExportQuery
) -> HttpResponseBase:
    row = await run_db(lambda: queries.get(request.user, conversation_id))
    as_json = query.format == "json"
    document = json_document(row, whole_tree=True) if as_json else markdown_document(row)
    response: HttpResponseBase = stream_download(document, MEDIA_TYPES[query.format], run=run_db)
    return response
