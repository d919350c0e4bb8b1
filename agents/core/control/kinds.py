"""What a value can be: known before an expression is evaluated, so that mistakes are found then.

A value that is missing is nothing (`null`), whatever its kind.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ValueKind:
    """One of the simple kinds. `name` is said in problems, with its article."""

    name: str


@dataclass(frozen=True, slots=True)
class ListKind(ValueKind):
    """A list whose items are of one kind."""

    name: str = field(default="a list", init=False)
    item: ValueKind


@dataclass(frozen=True, slots=True)
class MapKind(ValueKind):
    """A map from texts, all of its values of one kind. Which keys it has is not known before."""

    name: str = field(default="a map", init=False)
    value: ValueKind


@dataclass(frozen=True, slots=True)
class RecordKind(ValueKind):
    """A thing with attributes, each of a kind of its own."""

    fields: Mapping[str, ValueKind]


ANY = ValueKind("anything")
NOTHING = ValueKind("nothing")
NUMBER = ValueKind("a number")
TEXT = ValueKind("a text")
TRUTH = ValueKind("true or false")


def fits(kind: ValueKind, wanted: ValueKind) -> bool:
    """Return whether a value of a kind may stand where another is wanted, by what is known."""
    if kind in (wanted, NOTHING) or ANY in (kind, wanted):
        return True
    match kind, wanted:
        case (ListKind(item=first), ListKind(item=second)):
            return fits(first, second)
        case (MapKind(value=first), MapKind(value=second)):
            return fits(first, second)
    return False


def join_kinds(kinds: Iterable[ValueKind]) -> ValueKind:
    """Return the kind of a value that is of one of these: theirs if they agree."""
    found: list[ValueKind] = []
    for kind in kinds:
        if kind != NOTHING and kind not in found:
            found.append(kind)
    return found[0] if len(found) == 1 else (ANY if found else NOTHING)


def kind_of(value: Any) -> ValueKind:
    """Return the simple kind of a value, as problems name it."""
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return TRUTH
    if isinstance(value, int | float):
        return NUMBER
    if isinstance(value, str):
        return TEXT
    if isinstance(value, list | tuple):
        return ListKind(ANY)
    return MapKind(ANY) if isinstance(value, Mapping) else ANY
