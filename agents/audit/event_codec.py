"""A chunk as a row and back. What people and models wrote is kept apart, so it can be erased."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from django.db import DatabaseError

from agents.core.chunks import (
    CHUNK_TYPES,
    PARSE_ERRORS,
    Content,
    OracleStreamChunk,
    Thinking,
    from_dict,
    to_dict,
)
from agents.models.runs import RunEvent

_CONTENT_PATHS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    kind: cls.traits.word_paths
    for kind, cls in CHUNK_TYPES.items()
    if cls.traits.words or cls.traits.optional_words
}
"""Where in a chunk its content is: the paths to its fields."""
_OPTIONAL_WORDS: Mapping[str, tuple[str, ...]] = {
    kind: cls.traits.optional_words for kind, cls in CHUNK_TYPES.items()
}
_WORDS = "words"
"""The key under which a row names the optional words that it has: its content is JSON then."""
_JSON_KINDS = frozenset(
    kind
    for kind, paths in _CONTENT_PATHS.items()
    if len(paths) > 1 or CHUNK_TYPES[kind].traits.words_are_json
)
"""Chunks whose content is more than one text."""

READ_ERRORS = (*PARSE_ERRORS, DatabaseError)
"""What reading a row may raise that somebody damaged."""
_STAMP_FIELDS = ("type", "seq", "at")
_to_json = json.JSONEncoder(ensure_ascii=False).encode
_to_canonical_json = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False
).encode


class EncodedEvent(NamedTuple):
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

    def build_event(self, run_id: UUID) -> RunEvent:
        values = {**self._asdict(), "data": json.loads(self.data)}
        del values["signed"]
        return RunEvent(run_id=run_id, **values)


class EventRow(Protocol):
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


def encode_chunk(chunk: OracleStreamChunk) -> EncodedEvent:
    at = datetime.fromtimestamp(chunk.at, UTC)
    if isinstance(chunk, Content | Thinking) and not chunk.parent:
        return _encode_text(chunk, at)
    whole = to_dict(chunk)
    signed = _to_canonical_json(whole)
    digest = hashlib.sha256(signed.encode()).hexdigest()
    content = ""
    if chunk.type in _CONTENT_PATHS:
        content = _pop_content(whole)
        signed = _to_canonical_json(whole)
    data = {name: value for name, value in whole.items() if name not in _STAMP_FIELDS}
    return EncodedEvent(chunk.seq, chunk.type, _to_json(data), content, digest, at, digest + signed)


def _encode_text(chunk: Content | Thinking, at: datetime) -> EncodedEvent:
    """Return the same for a piece of text, by hand: nearly all rows are one."""
    stamp = at.isoformat(timespec="milliseconds")
    text = _to_json(chunk.content)
    whole = f'{{"at":"{stamp}","content":{text},"seq":{chunk.seq},"type":"{chunk.type}"}}'
    digest = hashlib.sha256(whole.encode()).hexdigest()
    signed = f'{digest}{{"at":"{stamp}","seq":{chunk.seq},"type":"{chunk.type}"}}'
    return EncodedEvent(chunk.seq, chunk.type, "{}", chunk.content, digest, at, signed)


def decode_event(event: EventRow) -> OracleStreamChunk | None:
    """Return the chunk that was stored, or None for a kind that this version does not know."""
    if not event.data and event.kind in _TEXT_CHUNKS:
        return _TEXT_CHUNKS[event.kind](
            content=event.content, seq=event.seq, at=event.at.timestamp()
        )
    return from_dict(_full_data(event))


_TEXT_CHUNKS: Mapping[str, type[Content | Thinking]] = {"content": Content, "thinking": Thinking}


def event_digest(event: EventRow) -> str:
    """Return the digest of an event as stored now: its `sha256`, unless it was erased."""
    whole = _full_data(event)
    if event.content and not (_CONTENT_PATHS.get(event.kind) or event.data.get(_WORDS)):
        whole[""] = event.content  # there should be none
    if (
        (event.kind in _JSON_KINDS or _WORDS in event.data)
        and event.content
        and _to_json(json.loads(event.content)) != event.content
    ):
        whole[""] = event.content  # not as we write it: a field may be there twice
    return hashlib.sha256(_to_canonical_json(whole).encode()).hexdigest()


def signed_payload(event: EventRow, digest: str) -> str:
    """Return what the link of an event must cover, by what is stored now."""
    return digest + _to_canonical_json(_data_without_content(event))


def _full_data(event: EventRow) -> dict[str, Any]:
    data = _data_without_content(event)
    _restore_content(data, event.content)
    return data


def _data_without_content(event: EventRow) -> dict[str, Any]:
    """Return the data without its content."""
    data = {"type": event.kind, "seq": event.seq, **event.data}
    data["at"] = event.at.isoformat(timespec="milliseconds")
    return data


def _pop_content(data: dict[str, Any]) -> str:
    """Take the content out of a chunk's data: one text as it is, anything else as JSON."""
    kind = data["type"]
    paths = _CONTENT_PATHS.get(kind, ())
    taken = {}
    for path in paths:
        holder = _container_for(data, path)
        if path[-1] in holder:
            taken[path[-1]] = holder.pop(path[-1])
    if optional := [name for name in _OPTIONAL_WORDS.get(kind, ()) if name in data]:
        taken |= {name: data.pop(name) for name in optional}
        data[_WORDS] = optional
    if len(taken) > 1 or len(paths) > 1:
        return _to_json(taken)
    value = next(iter(taken.values()), "")
    return _to_json(value) if taken and kind in _JSON_KINDS else str(value)


def _restore_content(data: dict[str, Any], content: str) -> None:
    """Put the content back where it was taken from. What was erased is empty."""
    kind = data["type"]
    optional = data.pop(_WORDS, ())
    paths = (*_CONTENT_PATHS.get(kind, ()), *((name,) for name in optional))
    if len(paths) > 1:
        erased = {paths[0][-1]: "", **list_stand_ins(kind, optional)}
        values = json.loads(content) if content else erased
    elif paths and kind in _JSON_KINDS:
        values = {paths[0][-1]: json.loads(content) if content else {}}
    else:
        values = {path[-1]: content for path in paths}
    for path in paths:
        if path[-1] in values:
            _container_for(data, path).setdefault(path[-1], values[path[-1]])


def list_stand_ins(kind: str, words: Sequence[str]) -> dict[str, str]:
    """Return what stands for the optional words of a row that nobody reads, or that was erased."""
    known = CHUNK_TYPES[kind].traits.stand_ins.items() if kind in CHUNK_TYPES else ()
    return {name: value for name, value in known if name in words}


def _container_for(data: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """Return what a field is in; a copy, because the row keeps its own."""
    if len(path) == 1:
        return data
    data[path[0]] = dict(data[path[0]])
    held: dict[str, Any] = data[path[0]]
    return held
