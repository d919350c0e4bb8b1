"""Chunks as JSON: `to_dict` is the wire form, `from_dict` reads it back.

It returns None for a type it does not know, because readers must be able to ignore what a newer
writer sends.
"""

from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from agents.core.chunks.types import (
    CHUNK_TYPES,
    Decision,
    EventRecord,
    Hint,
    OracleStreamChunk,
    Source,
    ToolCalled,
    ToolResult,
    Turn,
)
from agents.core.chunks.values import CallView, Check, SourceRef

WIRE_NAMES = {"goes_on": "continue"}
"""Fields whose name on the wire is a keyword of Python."""
_FIELD_NAMES: dict[type[Any], tuple[str, ...]] = {
    cls: tuple(f.name for f in fields(cls)) for cls in (CallView, Check, SourceRef)
}
_CHUNK_FIELDS: dict[type[Any], tuple[tuple[str, str], ...]] = {
    cls: tuple((f.name, WIRE_NAMES.get(f.name, f.name)) for f in fields(cls))
    for cls in CHUNK_TYPES.values()
}
"""The fields of each chunk, and their names on the wire."""
PARSE_ERRORS = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
"""What reading a chunk may raise that somebody damaged."""
_OPTIONAL_FIELDS = frozenset({"heading", "end_line"})
"""Fields of nested values that are left out where they are empty: they came later than others."""
_LATER_FIELDS: dict[type[Any], tuple[str, ...]] = {
    Decision: ("path",),
    EventRecord: ("texts",),
    Hint: ("events",),
    ToolResult: ("given", "unfinished", "cause"),
    Turn: ("interim", "held", "answers", "failure", "pattern"),
}
OPTIONAL_FIELDS: Mapping[type[Any], frozenset[str]] = {
    cls: frozenset({"parent", *_LATER_FIELDS.get(cls, ())}) for cls in CHUNK_TYPES.values()
}
"""Fields of each chunk that are left out where they are empty: they came later than others."""
_NESTED: dict[type[Any], tuple[str, type[Any]]] = {
    ToolCalled: ("tool_call", CallView),
    Source: ("source", SourceRef),
}


def to_dict(chunk: OracleStreamChunk) -> dict[str, Any]:
    """Return the chunk as JSON-ready data: `type`, `seq`, `at` in ISO 8601, then its own fields."""
    data = {
        wire_name: _to_plain(getattr(chunk, name)) for name, wire_name in _CHUNK_FIELDS[type(chunk)]
    }
    data["at"] = datetime.fromtimestamp(chunk.at, UTC).isoformat(timespec="milliseconds")
    for name in OPTIONAL_FIELDS[type(chunk)]:
        if not data[name]:
            del data[name]
    return {"type": chunk.type, **data}


def from_dict(data: Mapping[str, Any]) -> OracleStreamChunk | None:
    """Return the chunk that `to_dict` wrote, or None for a type this version does not know."""
    cls = CHUNK_TYPES.get(data["type"])
    if cls is None:
        return None
    values = {name: data[wire_name] for name, wire_name in _CHUNK_FIELDS[cls] if wire_name in data}
    values["at"] = datetime.fromisoformat(values["at"]).timestamp()
    name, nested = _NESTED.get(cls, ("", Check))
    if name in values:
        values[name] = _build_nested(nested, values[name])
    if "checks" in values:
        values["checks"] = tuple(_build_nested(Check, check) for check in values["checks"])
    for name in ("tools", "also_triggered", "events", "calls"):
        if name in values:
            values[name] = tuple(values[name])
    chunk: OracleStreamChunk = cls(**values)
    return chunk


def _build_nested(cls: type[Any], data: Mapping[str, Any]) -> Any:
    """Return a nested value without the fields that this version does not know."""
    return cls(**{name: data[name] for name in _FIELD_NAMES[cls] if name in data})


def _to_plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_to_plain(item) for item in value]
    names = _FIELD_NAMES.get(type(value))
    if names is None:
        return value
    plain = {name: getattr(value, name) for name in names}
    for name in _OPTIONAL_FIELDS & plain.keys():
        if not plain[name]:
            del plain[name]
    return plain
