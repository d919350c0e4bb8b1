"""A conversation as JSON: the path to HEAD, or the whole tree."""

from collections.abc import Iterator
from typing import Any

from agents.core.chunks import CallView, Source, ToolResult, to_dict
from agents.run_serializer import (
    ENDING_FIELDS,
    SETUP_FIELDS,
    TIME_FIELDS,
    TOKEN_FIELDS,
    serialize_run,
)
from agents.web.formatting import dump_json, format_timestamp
from chat.conversations import tree
from chat.export.loader import ExportedExchange, iter_exchanges
from chat.models import Conversation

FORMAT_VERSION = 1
RUN_FIELDS = (
    "id",
    "continued_from",
    *SETUP_FIELDS,
    *ENDING_FIELDS,
    "turns",
    *TOKEN_FIELDS,
    *TIME_FIELDS,
)


def json_document(conversation: Conversation, *, whole_tree: bool = False) -> Iterator[str]:
    """Yield pieces of one JSON object; its `exchanges` come last, parents before their children."""
    shape = tree.load_shape(conversation)
    path = shape.path(conversation.head_id)
    on_path = set(path)
    wanted = [pk for pk, _ in shape.walk()] if whole_tree else path
    yield (
        dump_json(_serialize_conversation(conversation, "tree" if whole_tree else "path"))[:-1]
        + ', "exchanges": ['
    )
    for entry in iter_exchanges(wanted):
        exchange = {**_serialize_exchange(entry), "on_path": entry.exchange.pk in on_path}
        yield ("\n" if entry.number == 1 else ",\n") + dump_json(exchange)
    yield "\n]}\n"


def _serialize_conversation(conversation: Conversation, scope: str) -> dict[str, Any]:
    return {
        "format": "oracle.conversation",
        "version": FORMAT_VERSION,
        "scope": scope,
        "id": str(conversation.pk),
        "title": conversation.title,
        "project": {"id": str(conversation.project_id), "name": conversation.project.name},
        "created_at": format_timestamp(conversation.created_at),
        "updated_at": format_timestamp(conversation.updated_at),
        "head": str(conversation.head_id) if conversation.head_id else None,
    }


def _serialize_exchange(entry: ExportedExchange) -> dict[str, Any]:
    exchange, run, record = entry.exchange, entry.run, entry.record
    return {
        "id": str(exchange.pk),
        "parent": str(exchange.parent_id) if exchange.parent_id else None,
        "label": exchange.label,
        "checkpoint": exchange.checkpoint,
        "created_at": format_timestamp(exchange.created_at),
        "question": run.question,
        "tool_calls": [
            _serialize_call(call, record.results.get(call_id))
            for call_id, call in record.calls.items()
        ],
        "notices": [_without_type(to_dict(notice)) for notice in entry.notices],
        "interim": [{"label": name, "text": text} for name, text in record.list_interims()],
        "answer": entry.answer,
        "explanation": run.explanation,
        "sources": [to_dict(Source(source=source))["source"] for source in entry.sources],
        "sources_note": entry.sources_note,
        "error": run.error,
        "run": serialize_run(run, RUN_FIELDS),
    }


def _serialize_call(call: CallView, result: ToolResult | None) -> dict[str, Any]:
    return {
        "id": call.id,
        "name": call.name,
        "arguments": call.arguments,
        "status": call.status,
        "ok": result.ok if result else None,
        "result": result.tool_result if result else None,
        "duration_ms": result.duration_ms if result else None,
        **({"given": result.given} if result and result.given else {}),
    }


def _without_type(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name not in ("type", "role", "seq")}
