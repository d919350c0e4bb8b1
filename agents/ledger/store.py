"""The ledger's SQL. Synchronous and short: it runs in the ledger's own thread.

Every commit is one fenced UPDATE over all its runs: it renews their leases and returns whether
somebody asked to cancel them. A run that is missing from the answer was taken over; nothing of it
is written.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from agents.core.chunks import Chunk
from agents.models import AgentRun
from agents.models.encoding import chunk_of, row_of


@dataclass(frozen=True, slots=True)
class Hold:
    """A process's claim to a run: valid while the row's fence is this one."""

    run_id: UUID
    fence: int


@dataclass(frozen=True, slots=True)
class Commit:
    """What one commit writes of one run: events, and its last words if it has ended."""

    hold: Hold
    chunks: Sequence[Chunk]
    final: Mapping[str, Any] | None = None


class Cursor(NamedTuple):
    """What a reader has of a run: everything up to a number."""

    run_id: UUID
    after: int


MOST_READ = 500
"""Events of one run that one read brings."""
MOST_CURSORS = 300
"""Runs that one statement reads; a database takes only so many values in one."""
MOST_INSERTED = 128
"""Events that one statement stores."""

Held = dict[UUID, bool]
"""Runs that are still ours, each with whether it is to be cancelled."""


def write(commits: Sequence[Commit], lease: timedelta) -> Held:
    """Store the events of every run that is still ours, all together or not at all."""
    rows = {commit.hold.run_id: _rows(commit) for commit in commits}  # before the lock is taken
    with transaction.atomic():
        newest = {commit.hold: commit.chunks[-1].seq for commit in commits}
        held = _renew(newest, timezone.now() + lease)
        _insert([row for run_id, written in rows.items() if run_id in held for row in written])
        for commit in commits:
            if commit.final is not None and commit.hold.run_id in held:
                AgentRun.objects.filter(pk=commit.hold.run_id).update(**commit.final)
    return held


def _rows(commit: Commit) -> list[tuple[Any, ...]]:
    run_id, adapt = _prepared(commit.hold.run_id), connection.ops.adapt_datetimefield_value
    rows = map(row_of, commit.chunks)
    return [(run_id, r.seq, r.kind, r.data, r.content, r.sha256, adapt(r.at)) for r in rows]


def _insert(rows: list[tuple[Any, ...]]) -> None:
    """By hand, many rows to a statement: nearly everything that is stored passes here."""
    for start in range(0, len(rows), MOST_INSERTED):
        some = rows[start : start + MOST_INSERTED]
        values = ", ".join(["(%s, %s, %s, %s, %s, %s, %s)"] * len(some))
        statement = f"""
            INSERT INTO agents_runevent (run_id, seq, kind, data, content, sha256, at)
            VALUES {values}
        """  # noqa: S608  # only placeholders are joined
        with connection.cursor() as cursor:
            cursor.execute(statement, [value for row in some for value in row])


def renew(holds: Iterable[Hold], lease: timedelta) -> Held:
    """Keep runs that have nothing to write, and hear whether they are to be cancelled."""
    with transaction.atomic():
        return _renew(dict.fromkeys(holds, 0), timezone.now() + lease)


class Page(NamedTuple):
    """What one read brings of a run: chunks this version knows, up to a number."""

    chunks: list[Chunk]
    upto: int
    is_full: bool
    """Whether there may be more than one read brings."""


class _Event(NamedTuple):
    seq: int
    kind: str
    data: Mapping[str, Any]
    content: str
    at: datetime


def read(cursors: Sequence[Cursor]) -> dict[Cursor, Page]:
    """What comes next after each cursor, if anything: one query for all of them.

    Numbers have no gaps, so a range of them is as good as a limit, and bounded for each run.
    """
    found: dict[Cursor, list[_Event]] = {}
    for start in range(0, len(cursors), MOST_CURSORS):
        some = cursors[start : start + MOST_CURSORS]
        values = [v for c in some for v in (_prepared(c.run_id), c.after, c.after + MOST_READ)]
        statement = f"""
            WITH v(id, above, most) AS (VALUES {_placeholders(len(some))})
            SELECT v.id, v.above, e.seq, e.kind, e.data, e.content, e.at
            FROM v JOIN agents_runevent e
              ON e.run_id = v.id AND e.seq > v.above AND e.seq <= v.most
            ORDER BY v.id, v.above, e.seq
        """  # noqa: S608  # only placeholders are joined
        with connection.cursor() as cursor:
            cursor.execute(statement, values)
            for run_id, above, *event in cursor.fetchall():
                found.setdefault(Cursor(_uuid(run_id), above), []).append(_event(*event))
    return {cursor: _page(events) for cursor, events in found.items()}


def pages(run_id: UUID) -> Iterator[Page]:
    """Everything that is stored of a run, piece by piece."""
    cursor = Cursor(run_id, 0)
    while page := read([cursor]).get(cursor):
        yield page
        cursor = Cursor(run_id, page.upto)


def _event(seq: int, kind: str, data: str, content: str, at: datetime) -> _Event:
    values = {} if data == "{}" else json.loads(data)
    return _Event(seq, kind, values, content, at if at.tzinfo else at.replace(tzinfo=UTC))


def _page(events: list[_Event]) -> Page:
    chunks = (chunk_of(event) for event in events)
    return Page(
        [chunk for chunk in chunks if chunk is not None], events[-1].seq, len(events) == MOST_READ
    )


def _renew(newest: Mapping[Hold, int], lease_until: datetime) -> Held:
    """The fenced UPDATE. `newest` is the highest number each run will have, 0 for no change."""
    if not newest:
        return {}
    values = [
        value for hold, seq in newest.items() for value in (_prepared(hold.run_id), hold.fence, seq)
    ]
    lease = connection.ops.adapt_datetimefield_value(lease_until)
    statement = f"""
        WITH v(id, fence, seq) AS (VALUES {_placeholders(len(newest))})
        UPDATE agents_agentrun
        SET lease_until = %s,
            last_seq = CASE WHEN v.seq > last_seq THEN v.seq ELSE last_seq END
        FROM v
        WHERE agents_agentrun.id = v.id
          AND agents_agentrun.fence = v.fence
          AND agents_agentrun.outcome IS NULL
        RETURNING agents_agentrun.id, agents_agentrun.cancel_requested_at
    """  # noqa: S608  # only placeholders are joined
    with connection.cursor() as cursor:
        cursor.execute(statement, [*values, lease])
        return {_uuid(found): cancel is not None for found, cancel in cursor.fetchall()}


_VALUES = {"sqlite": "(%s, %s, %s)", "postgresql": "(%s::uuid, %s::int, %s::int)"}


def _prepared(run_id: UUID) -> Any:
    """A run's id as this database takes it."""
    return AgentRun._meta.pk.get_db_prep_value(run_id, connection)


def _placeholders(rows: int) -> str:
    return ", ".join([_VALUES[connection.vendor]] * rows)


def _uuid(value: Any) -> UUID:
    return value if isinstance(value, UUID) else UUID(value)
