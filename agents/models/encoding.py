"""A chunk as a row and back. What people and models wrote is kept apart, so it can be erased."""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

from agents.core.chunks import Chunk, from_dict, to_dict
from agents.models.runs import RunEvent

_CONTENT: Mapping[str, tuple[str, ...]] = {
    "thinking": ("content",),
    "content": ("content",),
    "tool_call": ("tool_call", "arguments"),
    "tool_result": ("tool_result",),
    "source": ("source", "snippet"),
    "hint": ("text",),
}
"""Where in a chunk its content is: the way to one field."""

_STAMP = ("type", "seq", "at")


class Row(NamedTuple):
    """One event, ready to be stored."""

    run_id: UUID
    seq: int
    kind: str
    data: dict[str, Any]
    content: str
    sha256: str
    at: datetime

    def event(self) -> RunEvent:
        return RunEvent(**self._asdict())


def row_of(run_id: UUID, chunk: Chunk) -> Row:
    whole = to_dict(chunk)
    digest = hashlib.sha256(_canonical(whole)).hexdigest()
    content = _take_content(whole)
    data = {name: value for name, value in whole.items() if name not in _STAMP}
    at = datetime.fromtimestamp(chunk.at, UTC)
    return Row(run_id, chunk.seq, chunk.type, data, content, digest, at)


def chunk_of(event: RunEvent) -> Chunk | None:
    """The chunk that was stored, or None for a kind that this version does not know."""
    data = {"type": event.kind, "seq": event.seq, **event.data}
    data["at"] = event.at.isoformat(timespec="milliseconds")
    _put_content(data, event.content)
    return from_dict(data)


def _canonical(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _take_content(data: dict[str, Any]) -> str:
    """Take the content out of a chunk's data. Arguments are kept as the JSON they are."""
    path = _CONTENT.get(data["type"])
    if path is None:
        return ""
    holder = data if len(path) == 1 else data[path[0]]
    value = holder.pop(path[-1])
    return json.dumps(value, ensure_ascii=False) if path[-1] == "arguments" else str(value)


def _put_content(data: dict[str, Any], content: str) -> None:
    path = _CONTENT.get(data["type"])
    if path is not None:
        holder = data
        if len(path) == 2:
            holder = data[path[0]] = dict(data[path[0]])  # the row keeps its own
        holder[path[-1]] = json.loads(content) if path[-1] == "arguments" else content
