"""A chunk as a row and back. What people and models wrote is kept apart, so it can be erased."""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from agents.core.chunks import Chunk, Content, Thinking, from_dict, to_dict
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

    seq: int
    kind: str
    data: str
    """JSON, as text."""
    content: str
    sha256: str
    at: datetime

    def event(self, run_id: UUID) -> RunEvent:
        return RunEvent(run_id=run_id, **{**self._asdict(), "data": json.loads(self.data)})


class Stored(Protocol):
    """One event as a database gives it back: a RunEvent, or something lighter."""

    @property
    def seq(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def data(self) -> Mapping[str, Any]: ...
    @property
    def content(self) -> str: ...
    @property
    def at(self) -> datetime: ...


def row_of(chunk: Chunk) -> Row:
    at = datetime.fromtimestamp(chunk.at, UTC)
    if isinstance(chunk, Content | Thinking) and not chunk.parent:
        return _text_row(chunk, at)
    whole = to_dict(chunk)
    digest = hashlib.sha256(_canonical(whole)).hexdigest()
    content = _take_content(whole)
    data = {name: value for name, value in whole.items() if name not in _STAMP}
    return Row(chunk.seq, chunk.type, _json(data), content, digest, at)


def _text_row(chunk: Content | Thinking, at: datetime) -> Row:
    """The same for a piece of text, by hand: nearly all rows are one."""
    stamp = at.isoformat(timespec="milliseconds")
    text = _json(chunk.content)
    whole = f'{{"at":"{stamp}","content":{text},"seq":{chunk.seq},"type":"{chunk.type}"}}'
    digest = hashlib.sha256(whole.encode()).hexdigest()
    return Row(chunk.seq, chunk.type, "{}", chunk.content, digest, at)


def chunk_of(event: Stored) -> Chunk | None:
    """The chunk that was stored, or None for a kind that this version does not know."""
    if not event.data and event.kind in _TEXTS:
        return _TEXTS[event.kind](content=event.content, seq=event.seq, at=event.at.timestamp())
    data = {"type": event.kind, "seq": event.seq, **event.data}
    data["at"] = event.at.isoformat(timespec="milliseconds")
    _put_content(data, event.content)
    return from_dict(data)


_TEXTS: Mapping[str, type[Content | Thinking]] = {"content": Content, "thinking": Thinking}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _canonical(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _take_content(data: dict[str, Any]) -> str:
    """Take the content out of a chunk's data. Arguments are kept as the JSON they are."""
    path = _CONTENT.get(data["type"])
    if path is None:
        return ""
    holder = data if len(path) == 1 else data[path[0]]
    value = holder.pop(path[-1])
    return _json(value) if path[-1] == "arguments" else str(value)


def _put_content(data: dict[str, Any], content: str) -> None:
    path = _CONTENT.get(data["type"])
    if path is not None:
        holder = data
        if len(path) == 2:
            holder = data[path[0]] = dict(data[path[0]])  # the row keeps its own
        if path[-1] != "arguments":
            holder[path[-1]] = content
        else:
            holder[path[-1]] = json.loads(content) if content else {}  # erased
