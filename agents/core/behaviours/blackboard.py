"""What a behaviour remembers: declared keys, each of one kind, in a scope of its own.

A sub-behaviour has a blackboard of its own and shares nothing but what is handed in and out; an
item of a list is a scope over the blackboard, which is read first and cannot be written.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.core.control.kinds import (
    ANY,
    NOTHING,
    NUMBER,
    TEXT,
    TRUTH,
    ListKind,
    MapKind,
    ValueKind,
    fits,
    kind_of,
)

MAX_VALUE_BYTES = 16 * 1024
MAX_BOARD_BYTES = 64 * 1024
KIND_NAMES: Mapping[str, ValueKind] = {
    "string": TEXT,
    "number": NUMBER,
    "boolean": TRUTH,
    "list": ListKind(ANY),
    "map": MapKind(ANY),
    "any": ANY,
}
"""What a schema calls the kinds."""


class NotWritten(Exception):
    """A value cannot be written to a key. The message says why; the blackboard is as before."""

    def __init__(self, why: str, message: str) -> None:
        super().__init__(message)
        self.why = why
        """As a path has it (`path.FAILURES`)."""


@dataclass(frozen=True, slots=True)
class BlackboardKey:
    """A declared key: the kind of its values, and the one it begins with."""

    kind: ValueKind
    default: Any = None


BlackboardSchema = Mapping[str, BlackboardKey]


class Blackboard:
    """The values of one run of a behaviour."""

    def __init__(self, schema: BlackboardSchema) -> None:
        self._schema = schema
        self._values = {name: key.default for name, key in schema.items()}
        self._sizes: dict[str, int] = {}

    def read(self, key: str) -> Any:
        return self._values[key]

    def write(self, key: str, value: Any) -> None:
        """Replace a value by another of the key's kind. Raises NotWritten."""
        if key not in self._schema:
            raise NotWritten("form", f"there is no key :{key}")
        wanted = self._schema[key].kind
        if not _is_of_kind(value, wanted):
            raise NotWritten("kind", f":{key} is {wanted.name}, not {kind_of(value).name}")
        size = _measure_value(key, value)
        if sum(self._sizes.values()) - self._sizes.get(key, 0) + size > MAX_BOARD_BYTES:
            raise NotWritten("room", f"the blackboard holds at most {MAX_BOARD_BYTES:,} bytes")
        self._values[key], self._sizes[key] = value, size

    def get_names(self, item: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return all values by name, as expressions see them, those of an item's scope first."""
        return {**self._values, **(item or {})}


def _is_of_kind(value: Any, wanted: ValueKind) -> bool:
    if value is None:
        return True
    if not fits(kind_of(value), wanted):
        return False
    match wanted:
        case ListKind(item=item):
            return all(_is_of_kind(one, item) for one in value)
        case MapKind(value=of):
            return all(_is_of_kind(one, of) for one in value.values())
    return True


def _measure_value(key: str, value: Any) -> int:
    try:
        size = len(json.dumps(value, ensure_ascii=False, allow_nan=False).encode())
    except (TypeError, ValueError, RecursionError):
        raise NotWritten("form", f"such a value cannot be kept in :{key}") from None
    if size > MAX_VALUE_BYTES:
        text = f"a value has at most {MAX_VALUE_BYTES:,} bytes, the one of :{key} more"
        raise NotWritten("size", text)
    return size


def get_default_kind(value: Any) -> ValueKind:
    """Return the kind of a key that begins with this value: nothing may become anything."""
    match value:
        case [first, *rest] if all(kind_of(one) == kind_of(first) for one in rest):
            return ListKind(get_default_kind(first))
    found = kind_of(value)
    return ANY if found == NOTHING else found
