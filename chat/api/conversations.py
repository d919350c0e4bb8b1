"""Conversations: the list, one path of exchanges, a title, deleting with undo, taking away."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from agents.models.tokens import Scope
from chat import conversations, tree
from chat.api import runs
from chat.api.endpoints import Call, endpoint
from chat.api.here import runtime, work
from chat.api.limits import Rate
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
from chat.errors import NotYours
from chat.export import json_document, markdown_document
from chat.export.records import read
from chat.models import Conversation

BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
ONE = "conversations/<uuid:conversation_id>"
MEDIA = {"json": "application/json", "md": "text/markdown; charset=utf-8"}


@endpoint(
    "GET",
    "conversations",
    "Your conversations, newest first",
    scopes=[Scope.READ],
    query=ListQuery,
    answers=ConversationList,
)
async def list_conversations(call: Call, query: ListQuery) -> ConversationList:
    return await work(lambda: _listed(call.user, query))


def _listed(user: User, query: ListQuery) -> ConversationList:
    before = _place(query.before) if query.before else None
    found = list(conversations.newest(user, query.limit + 1, before))
    shown = found[: query.limit]
    listed = [
        ListedConversation(running=row.running, **_about(row))  # type: ignore[attr-defined]  # an annotation
        for row in shown
    ]
    return ConversationList(
        conversations=listed, next=_cursor(shown[-1]) if len(found) > len(shown) else None
    )


def _cursor(row: Conversation) -> str:
    return f"{(row.updated_at - BEGINNING) // MICROSECOND}-{row.pk.hex}"


def _place(cursor: str) -> tuple[datetime, UUID]:
    at, _, pk = cursor.partition("-")
    return BEGINNING + int(at) * MICROSECOND, UUID(pk)


def _about(row: Conversation) -> dict[str, Any]:
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
    ONE,
    "A conversation: the exchanges on the path to HEAD",
    scopes=[Scope.READ],
    query=PathQuery,
    answers=ConversationPath,
)
async def show_conversation(
    call: Call, conversation_id: UUID, query: PathQuery
) -> ConversationPath:
    return await work(lambda: _path(call.user, conversation_id, query))


def _path(user: User, conversation_id: UUID, query: PathQuery) -> ConversationPath:
    row = conversations.get(user, conversation_id)
    upto = row.head_id
    if query.upto is not None:
        last = conversations.get_exchange(user, query.upto)
        if last.conversation_id != row.pk:
            raise NotYours("That exchange is not in this conversation.")
        upto = last.pk
    part = tree.stretch(upto, query.limit)
    entries = read([exchange.pk for exchange in part.exchanges])
    exchanges = [
        ExchangeView(
            id=entry.exchange.pk,
            parent=entry.exchange.parent_id,
            label=entry.exchange.label,
            checkpoint=entry.exchange.checkpoint,
            created_at=entry.exchange.created_at,
            run=runs.told(entry.run, entry.record),
        )
        for entry in entries
    ]
    return ConversationPath(**_about(row), exchanges=exchanges, earlier=part.earlier)


@endpoint(
    "PATCH",
    ONE,
    "Give a conversation another title",
    scopes=[Scope.ASK],
    rate=Rate.CHANGE,
    takes=Rename,
    answers=ConversationView,
)
async def rename_conversation(call: Call, conversation_id: UUID, body: Rename) -> ConversationView:
    def rename() -> ConversationView:
        conversations.rename(conversations.get(call.user, conversation_id), body.title)
        return _view(call.user, conversation_id)

    return await _changed(conversation_id, await work(rename))


@endpoint(
    "DELETE",
    ONE,
    "Delete a conversation; it can be restored",
    scopes=[Scope.ASK],
    rate=Rate.CHANGE,
    answers={204: None},
)
async def delete_conversation(call: Call, conversation_id: UUID) -> HttpResponseBase:
    """Runs that are going on in it are stopped."""
    going = await work(lambda: conversations.delete(conversations.get(call.user, conversation_id)))
    for run_id in going:
        await runtime().cancel(run_id)
    runtime().nudge(conversation_id)
    return HttpResponse(status=204)


@endpoint(
    "POST",
    f"{ONE}/restore",
    "Undo a deletion",
    scopes=[Scope.ASK],
    rate=Rate.CHANGE,
    answers=ConversationView,
)
async def restore_conversation(call: Call, conversation_id: UUID) -> ConversationView:
    def restore() -> ConversationView:
        conversations.restore(call.user, conversation_id)
        return _view(call.user, conversation_id)

    return await _changed(conversation_id, await work(restore))


def _view(user: User, conversation_id: UUID) -> ConversationView:
    return ConversationView.model_validate(_about(conversations.get(user, conversation_id)))


async def _changed(conversation_id: UUID, view: ConversationView) -> ConversationView:
    runtime().nudge(conversation_id)  # pages that show it
    return view


@endpoint(
    "GET",
    f"{ONE}/export",
    "Take a conversation away: the whole tree as JSON, or the path to HEAD as Markdown",
    scopes=[Scope.READ],
    query=ExportQuery,
    answers={200: "application/json, text/markdown"},
)
async def export_conversation(
    call: Call, conversation_id: UUID, query: ExportQuery
) -> HttpResponseBase:
    row = await work(lambda: conversations.get(call.user, conversation_id))
    as_json = query.format == "json"
    document = json_document(row, whole_tree=True) if as_json else markdown_document(row)
    return StreamingHttpResponse(_pieces(document), content_type=MEDIA[query.format])


async def _pieces(document: Iterator[str]) -> AsyncIterator[str]:
    """Piece by piece: a long conversation never lies in memory whole."""
    while (piece := await work(lambda: next(document, None))) is not None:
        yield piece
