"""The events of a run as the audit reads them: whatever is stored, reading it never raises.

Only what a page shows is read, a fixed number of queries for a run of any length; pieces of text
are counted by the database. What people and models wrote (`content`) is not read here at all.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import DatabaseError
from django.db.models import Count, Max, QuerySet, Sum, TextField
from django.db.models.functions import Cast, Length

from agents.models import RunEvent

STRUCTURE = ("turn", "decision", "system", "tool_call", "tool_result", "hint", "error", "done")
"""Kinds of which a run has few: what its timeline and its decisions are made of."""
KINDS = frozenset({*STRUCTURE, "thinking", "content", "source", "context_update", "status"})
MOST = 8_000
"""Events of these kinds that are read; 50 turns of 20 calls have 3,300."""
PAGE = 200
LONGEST = 200
"""Characters of a word that an event is believed to hold."""


@dataclass(frozen=True, slots=True)
class Event:
    """One row, with what could be understood of it."""

    seq: int
    kind: str
    at: float | None
    data: Mapping[str, Any]
    size: int = 0
    """Characters of its content."""
    problem: str = ""

    @property
    def parent(self) -> str:
        """The call that started the subagent, if one made this event."""
        return self.text("parent")

    def text(self, *path: str) -> str:
        """The word at the end of a path, or an empty one."""
        found = self._at(path)
        return found[:LONGEST] if isinstance(found, str) else ""

    def number(self, *path: str) -> int:
        """The number at the end of a path, or 0."""
        return whole(self._at(path))

    def flag(self, *path: str) -> bool:
        return self._at(path) is True

    def items(self, name: str) -> Sequence[Mapping[str, Any]]:
        found = self.data.get(name)
        return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else ()

    def _at(self, path: Sequence[str]) -> Any:
        found: Any = self.data
        for name in path:
            found = found.get(name) if isinstance(found, Mapping) else None
        return found


@dataclass(frozen=True, slots=True)
class Tally:
    """How many events of one kind there are, and how much was written in them."""

    kind: str
    events: int
    characters: int
    newest: int


@dataclass(frozen=True, slots=True)
class Record:
    """What is read of a run for its page."""

    structure: Sequence[Event] = ()
    tallies: Sequence[Tally] = ()
    damage: Sequence[str] = ()
    is_cut: bool = False
    """Whether there is more of the structure than is read."""
    by_kind: Mapping[str, Tally] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(tally.events for tally in self.tallies)

    @property
    def newest(self) -> int:
        return max((tally.newest for tally in self.tallies), default=0)


def read(run_id: UUID, last_seq: int, *, is_over: bool) -> Record:
    """The structure and the counts of a run, and what is wrong with them."""
    try:
        some = list(rows(run_id).filter(kind__in=STRUCTURE)[: MOST + 1])
        counted = list(_counted(run_id))
    except (DatabaseError, ValueError, TypeError, AttributeError, OverflowError):
        return Record(damage=["The events of this run cannot be read."])
    structure = [event(*row) for row in some[:MOST]]
    tallies = [
        Tally(str(kind)[:32], whole(n), whole(size), whole(top)) for kind, n, size, top in counted
    ]
    by_kind = {tally.kind: tally for tally in tallies}
    damage = [*_missing(tallies, last_seq, is_over), *_broken(structure), *_strange(tallies)]
    return Record(structure, tallies, damage, len(some) > MOST, by_kind)


def page(run_id: UUID, number: int) -> list[Event]:
    """The events of one page. Numbers have no gaps, so a page is a range of them."""
    first = (number - 1) * PAGE
    try:
        found = list(rows(run_id).filter(seq__gt=first, seq__lte=first + PAGE)[:PAGE])
    except (DatabaseError, ValueError, TypeError, AttributeError, OverflowError):
        return []
    return [event(*row) for row in found]


def whole(value: Any) -> int:
    """A number as it should have been stored, or 0."""
    return int(value) if isinstance(value, int | float) and abs(value) < 10**15 else 0


COLUMNS = ("seq", "kind", "raw", "when", "size")


def rows(run_id: UUID) -> QuerySet[RunEvent, tuple[Any, ...]]:
    """Data and time as text: what the database's own converters refuse is read all the same."""
    return (
        RunEvent.objects.filter(run_id=run_id)
        .order_by("seq")
        .annotate(
            raw=Cast("data", TextField()),
            when=Cast("at", TextField()),
            size=Length("content"),
        )
        .values_list(*COLUMNS)
    )


def _counted(run_id: UUID) -> QuerySet[RunEvent, tuple[Any, ...]]:
    return (
        RunEvent.objects.filter(run_id=run_id)
        .order_by()
        .values("kind")
        .annotate(n=Count("pk"), size=Sum(Length("content")), newest=Max("seq"))
        .order_by("kind")
        .values_list("kind", "n", "size", "newest")
    )


def event(seq: Any, kind: Any, raw: Any, when: Any, size: Any) -> Event:
    kind, at, problem = str(kind)[:32], _time(when), ""
    data: Any = {}
    if raw not in ("{}", ""):
        try:
            data = json.loads(raw)
        except (ValueError, TypeError, RecursionError):
            problem = "its data cannot be read"
    if not isinstance(data, dict):
        data, problem = {}, "its data is not what was written"
    if at is None:
        problem = problem or "its time cannot be read"
    return Event(whole(seq), kind, at, data, whole(size), problem or misfit(kind, data))


def _time(when: Any) -> float | None:
    try:
        at = datetime.fromisoformat(when)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


# -- what is wrong --------------------------------------------------------------------------------

_WANTED: Mapping[str, Mapping[str, type | tuple[type, ...]]] = {
    "turn": {"number": int, "phase": str},
    "decision": {"checkpoint": str, "continue": bool, "checks": list},
    "system": {"system_type": str, "metadata": dict},
    "tool_call": {"tool_call": dict},
    "tool_result": {"tool_call_id": str, "ok": bool, "duration_ms": (int, float)},
    "error": {"code": str},
    "done": {"termination_reason": str, "outcome": str},
}
"""What an event of a kind must have for this page."""


def misfit(kind: str, data: Mapping[str, Any]) -> str:
    """What is wrong with an event's data, or nothing."""
    if kind not in KINDS:
        return "its kind is not known here"
    for name, wanted in _WANTED.get(kind, {}).items():
        if not isinstance(data.get(name), wanted):
            return f"its {name.replace('_', ' ')} is missing or not what was written"
    return ""


_SAID = 5
"""Damaged events that are named one by one."""


def _broken(events: Sequence[Event]) -> list[str]:
    broken = [event for event in events if event.problem]
    said = [f"Event {event.seq} ({event.kind}): {event.problem}." for event in broken[:_SAID]]
    if len(broken) > _SAID:
        said.append(f"{len(broken) - _SAID} more events are damaged.")
    return said


def _missing(tallies: Sequence[Tally], last_seq: int, is_over: bool) -> list[str]:
    total = sum(tally.events for tally in tallies)
    newest = max((tally.newest for tally in tallies), default=0)
    wanted = max(newest, last_seq)
    said = []
    if total < wanted:
        plural = "s are" if wanted - total > 1 else " is"
        said.append(f"{wanted - total:,} of {wanted:,} event{plural} missing.")
    if is_over and total and "done" not in {tally.kind for tally in tallies}:
        said.append("The event that ended the run is missing.")
    return said


def _strange(tallies: Sequence[Tally]) -> list[str]:
    strange = [tally for tally in tallies if tally.kind not in KINDS]
    return [f"{t.events:,} of kind “{t.kind}”, which is not known here." for t in strange[:_SAID]]
