"""A chunk as a row and back. What people and models wrote is kept apart, so it can be erased."""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from agents.core.chunks import Chunk, Content, Thinking, from_dict, to_dict
from agents.models.runs import RunEvent

_CONTENT: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "thinking": (("content",),),
    "content": (("content",),),
    "tool_call": (("tool_call", "arguments"),),
    "tool_result": (("tool_result",),),
    "source": (("source", "path"), ("source", "snippet")),
    "system": (("system_message",), ("metadata", "action")),
    "turn": (("action",),),
    "hint": (("text",),),
    "done": (("explanation",),),
}
"""Where in a chunk its content is: the ways to its fields."""

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
    signed: str
    """What its link covers: the digest of the whole, and apart from it what cannot be erased."""

    def event(self, run_id: UUID) -> RunEvent:
        values = {**self._asdict(), "data": json.loads(self.data)}
        del values["signed"]
        return RunEvent(run_id=run_id, **values)


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
    signed = digest + _canonical(whole).decode()
    data = {name: value for name, value in whole.items() if name not in _STAMP}
    return Row(chunk.seq, chunk.type, _json(data), content, digest, at, signed)


def _text_row(chunk: Content | Thinking, at: datetime) -> Row:
    """The same for a piece of text, by hand: nearly all rows are one."""
    stamp = at.isoformat(timespec="milliseconds")
    text = _json(chunk.content)
    whole = f'{{"at":"{stamp}","content":{text},"seq":{chunk.seq},"type":"{chunk.type}"}}'
    digest = hashlib.sha256(whole.encode()).hexdigest()
    signed = f'{digest}{{"at":"{stamp}","seq":{chunk.seq},"type":"{chunk.type}"}}'
    return Row(chunk.seq, chunk.type, "{}", chunk.content, digest, at, signed)


def chunk_of(event: Stored) -> Chunk | None:
    """The chunk that was stored, or None for a kind that this version does not know."""
    if not event.data and event.kind in _TEXTS:
        return _TEXTS[event.kind](content=event.content, seq=event.seq, at=event.at.timestamp())
    return from_dict(_whole(event))


_TEXTS: Mapping[str, type[Content | Thinking]] = {"content": Content, "thinking": Thinking}


def digest_of(event: Stored) -> str:
    """The digest of an event as it is stored now: what `sha256` must be, unless it was erased."""
    whole = _whole(event)
    if event.content and event.kind not in _CONTENT:
        whole[""] = event.content  # there should be none
    if _is_json(event.kind) and event.content and _json(json.loads(event.content)) != event.content:
        whole[""] = event.content  # written otherwise than we write: a field may be there twice
    return hashlib.sha256(_canonical(whole)).hexdigest()


def _is_json(kind: str) -> bool:
    return kind == "tool_call" or len(_CONTENT.get(kind, ())) > 1


def signed_of(event: Stored, digest: str) -> str:
    """What the link of an event must cover, by what is stored now."""
    return digest + _canonical(_bare(event)).decode()


def _whole(event: Stored) -> dict[str, Any]:
    data = _bare(event)
    _put_content(data, event.content)
    return data


def _bare(event: Stored) -> dict[str, Any]:
    """Without its content."""
    data = {"type": event.kind, "seq": event.seq, **event.data}
    data["at"] = event.at.isoformat(timespec="milliseconds")
    return data


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _canonical(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _take_content(data: dict[str, Any]) -> str:
    """Take the content out of a chunk's data: one text as it is, anything else as JSON."""
    ways = _CONTENT.get(data["type"], ())
    taken = {}
    for path in ways:
        holder = _holder(data, path)
        if path[-1] in holder:
            taken[path[-1]] = holder.pop(path[-1])
    if len(ways) > 1:
        return _json(taken)
    value = next(iter(taken.values()), "")
    return _json(value) if data["type"] == "tool_call" else str(value)


def _put_content(data: dict[str, Any], content: str) -> None:
    """The other way. What was erased is empty."""
    ways = _CONTENT.get(data["type"], ())
    if len(ways) > 1:
        values = json.loads(content) if content else {ways[0][-1]: ""}
    elif data["type"] == "tool_call":
        values = {"arguments": json.loads(content) if content else {}}
    else:
        values = {path[-1]: content for path in ways}
    for path in ways:
        if path[-1] in values:
            _holder(data, path).setdefault(path[-1], values[path[-1]])


def _holder(data: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """What a field is in; a copy, because the row keeps its own."""
    if len(path) == 1:
        return data
    data[path[0]] = dict(data[path[0]])
    held: dict[str, Any] = data[path[0]]
    return held
