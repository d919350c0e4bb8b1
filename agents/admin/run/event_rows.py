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

from django.db.models import Count, Max, QuerySet, Sum, TextField
from django.db.models.functions import Cast, Length

from agents.audit.event_codec import READ_ERRORS, list_stand_ins
from agents.core.chunks import CHUNK_TYPES, PARSE_ERRORS, kinds_read_by
from agents.ledger import query_events

STRUCTURE_KINDS = kinds_read_by("audit")
"""Kinds of which a run has few: what its timeline and its decisions are made of."""
MAX_EVENTS = 8_000
"""Events of these kinds that are read; 50 turns of 20 calls have 3,300."""
PAGE_SIZE = 200
MAX_TEXT_LENGTH = 200
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
        """Return the word at the end of a path, or an empty one."""
        found = self._get_path(path)
        return found[:MAX_TEXT_LENGTH] if isinstance(found, str) else ""

    @property
    def label(self) -> str:
        """What the text of a turn is called that is not yet the answer, or what stands for it
        where it is stored with what was said."""
        words = self.data.get("words")
        stand_ins = list_stand_ins(self.kind, words if isinstance(words, list) else ())
        return self.text("interim") or stand_ins.get("interim", "")

    def number(self, *path: str) -> int:
        """Return the number at the end of a path, or 0."""
        return safe_int(self._get_path(path))

    def flag(self, *path: str) -> bool:
        return self._get_path(path) is True

    def items(self, name: str) -> Sequence[Mapping[str, Any]]:
        found = self.data.get(name)
        return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else ()

    def _get_path(self, path: Sequence[str]) -> Any:
        found: Any = self.data
        for name in path:
            found = found.get(name) if isinstance(found, Mapping) else None
        return found


@dataclass(frozen=True, slots=True)
class KindCount:
    """How many events of one kind there are, and how much was written in them."""

    kind: str
    events: int
    characters: int
    newest: int


@dataclass(frozen=True, slots=True)
class EventSummary:
    """What is read of a run for its page."""

    structure: Sequence[Event] = ()
    kind_counts: Sequence[KindCount] = ()
    damage: Sequence[str] = ()
    is_truncated: bool = False
    """Whether there is more of the structure than is read."""
    by_kind: Mapping[str, KindCount] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(tally.events for tally in self.kind_counts)

    @property
    def newest(self) -> int:
        return max((tally.newest for tally in self.kind_counts), default=0)


def load_summary(run_id: UUID, last_seq: int, *, is_over: bool) -> EventSummary:
    """Return the structure and the counts of a run, and what is wrong with them."""
    try:
        some = list(query_rows(run_id).filter(kind__in=STRUCTURE_KINDS)[: MAX_EVENTS + 1])
        counted = list(_count_by_kind(run_id))
    except READ_ERRORS:
        return EventSummary(damage=["The events of this run cannot be read."])
    structure = [parse_event(*row) for row in some[:MAX_EVENTS]]
    tallies = [
        KindCount(str(kind)[:32], safe_int(n), safe_int(size), safe_int(top))
        for kind, n, size, top in counted
    ]
    by_kind = {tally.kind: tally for tally in tallies}
    damage = [
        *_describe_missing(tallies, last_seq, is_over),
        *_describe_damaged(structure),
        *_describe_unknown_kinds(tallies),
    ]
    return EventSummary(structure, tallies, damage, len(some) > MAX_EVENTS, by_kind)


def load_page(run_id: UUID, number: int) -> list[Event]:
    """Return the events of one page. Numbers have no gaps, so a page is a range of them."""
    first = (number - 1) * PAGE_SIZE
    try:
        found = list(
            query_rows(run_id).filter(seq__gt=first, seq__lte=first + PAGE_SIZE)[:PAGE_SIZE]
        )
    except READ_ERRORS:
        return []
    return [parse_event(*row) for row in found]


def safe_int(value: Any) -> int:
    """Return a number as it should have been stored, or 0."""
    return int(value) if isinstance(value, int | float) and abs(value) < 10**15 else 0


COLUMNS = ("seq", "kind", "raw", "when", "size")


def query_rows(run_id: UUID) -> QuerySet[Any, tuple[Any, ...]]:
    """Return data and time as text: what the database's own converters refuse is read, too."""
    return (
        query_events([run_id])
        .order_by("seq")
        .annotate(
            raw=Cast("data", TextField()),
            when=Cast("at", TextField()),
            size=Length("content"),
        )
        .values_list(*COLUMNS)
    )


def _count_by_kind(run_id: UUID) -> QuerySet[Any, tuple[Any, ...]]:
    return (
        query_events([run_id])
        .order_by()
        .values("kind")
        .annotate(n=Count("pk"), size=Sum(Length("content")), newest=Max("seq"))
        .order_by("kind")
        .values_list("kind", "n", "size", "newest")
    )


def parse_event(seq: Any, kind: Any, raw: Any, when: Any, size: Any) -> Event:
    kind, at, problem = str(kind)[:32], _parse_time(when), ""
    data: Any = {}
    if raw not in ("{}", ""):
        try:
            data = json.loads(raw)
        except PARSE_ERRORS:
            problem = "its data cannot be read"
    if not isinstance(data, dict):
        data, problem = {}, "its data is not what was written"
    if at is None:
        problem = problem or "its time cannot be read"
    return Event(
        safe_int(seq), kind, at, data, safe_int(size), problem or schema_problem(kind, data)
    )


def _parse_time(when: Any) -> float | None:
    try:
        at = datetime.fromisoformat(when)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except PARSE_ERRORS:
        return None


# -- what is wrong --------------------------------------------------------------------------------

_REQUIRED_FIELDS: Mapping[str, Mapping[str, type | tuple[type, ...]]] = {
    "turn": {"number": int, "phase": str},
    "decision": {"checkpoint": str, "continue": bool, "checks": list},
    "system": {"system_type": str, "metadata": dict},
    "tool_call": {"tool_call": dict},
    "tool_result": {"tool_call_id": str, "ok": bool, "duration_ms": (int, float)},
    "event": {"name": str, "severity": str, "payload": dict},
    "approval": {"approval_id": str, "asker": str, "calls": list},
    "error": {"code": str},
    "done": {"termination_reason": str, "outcome": str},
}
"""What an event of a kind must have for this page."""


def schema_problem(kind: str, data: Mapping[str, Any]) -> str:
    """Return what is wrong with an event's data, or nothing."""
    if kind not in CHUNK_TYPES:
        return "its kind is unknown"
    for name, wanted in _REQUIRED_FIELDS.get(kind, {}).items():
        if not isinstance(data.get(name), wanted):
            return f"its {name.replace('_', ' ')} is missing or not what was written"
    return ""


_MAX_LISTED = 5
"""Damaged events that are named one by one."""


def _describe_damaged(events: Sequence[Event]) -> list[str]:
    broken = [event for event in events if event.problem]
    said = [f"Event {event.seq} ({event.kind}): {event.problem}." for event in broken[:_MAX_LISTED]]
    if len(broken) > _MAX_LISTED:
        said.append(f"{len(broken) - _MAX_LISTED} more events are damaged.")
    return said


def _describe_missing(tallies: Sequence[KindCount], last_seq: int, is_over: bool) -> list[str]:
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


def _describe_unknown_kinds(tallies: Sequence[KindCount]) -> list[str]:
    strange = [tally for tally in tallies if tally.kind not in CHUNK_TYPES]
    return [f"{t.events:,} of kind “{t.kind}”, which is unknown." for t in strange[:_MAX_LISTED]]
