"""The ledger's SQL. Synchronous and short: it runs in the ledger's own thread.

Every commit is one fenced UPDATE over all its runs: it renews their leases and returns whether
somebody asked to cancel them. A run that is missing from the answer was taken over; nothing of it
is written.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from agents.models import AgentRun, RunEvent
from agents.models.encoding import Row


@dataclass(frozen=True, slots=True)
class Hold:
    """A process's claim to a run: valid while the row's fence is this one."""

    run_id: UUID
    fence: int


@dataclass(frozen=True, slots=True)
class Commit:
    """What one commit writes of one run: events, and its last words if it has ended."""

    hold: Hold
    rows: Sequence[Row]
    final: Mapping[str, Any] | None = None


class Cursor(NamedTuple):
    """What a reader has of a run: everything up to a number."""

    run_id: UUID
    after: int


MOST_READ = 500
"""Events of one run that one read brings."""
MOST_CURSORS = 300
"""Runs that one statement reads; SQLite takes only so many values in one."""

Held = dict[UUID, bool]
"""Runs that are still ours, each with whether it is to be cancelled."""


def write(commits: Sequence[Commit], lease: timedelta) -> Held:
    """Store the events of every run that is still ours, all together or not at all."""
    with transaction.atomic():
        newest = {c.hold: c.rows[-1].seq for c in commits}
        held = _renew(newest, timezone.now() + lease)
        ours = [commit for commit in commits if commit.hold.run_id in held]
        RunEvent.objects.bulk_create([row.event() for commit in ours for row in commit.rows])
        for commit in ours:
            if commit.final is not None:
                AgentRun.objects.filter(pk=commit.hold.run_id).update(**commit.final)
    return held


def renew(holds: Iterable[Hold], lease: timedelta) -> Held:
    """Keep runs that have nothing to write, and hear whether they are to be cancelled."""
    with transaction.atomic():
        return _renew(dict.fromkeys(holds, 0), timezone.now() + lease)


def read(cursors: Sequence[Cursor]) -> dict[Cursor, list[RunEvent]]:
    """The next events after each cursor, oldest first: one query for all of them.

    Numbers have no gaps, so a range of them is as good as a limit, and bounded for each run.
    """
    found: dict[Cursor, list[RunEvent]] = {}
    for some in _batches(cursors):
        rows = ", ".join([_VALUES[connection.vendor]] * len(some))
        values = [v for c in some for v in (_prepared(c.run_id), c.after, c.after + MOST_READ)]
        statement = f"""
            WITH v(id, above, most) AS (VALUES {rows})
            SELECT e.*, v.above AS above
            FROM v JOIN agents_runevent e
              ON e.run_id = v.id AND e.seq > v.above AND e.seq <= v.most
            ORDER BY e.run_id, v.above, e.seq
        """  # noqa: S608  # only placeholders are joined
        for event in RunEvent.objects.raw(statement, values):
            cursor = Cursor(event.run_id, event.above)  # type: ignore[attr-defined]  # selected
            found.setdefault(cursor, []).append(event)
    return found


def history(run_id: UUID) -> Iterator[RunEvent]:
    """All events of a run, read piece by piece."""
    after = 0
    while events := read([Cursor(run_id, after)]).get(Cursor(run_id, after)):
        yield from events
        after = events[-1].seq


def _renew(newest: Mapping[Hold, int], lease_until: datetime) -> Held:
    """The fenced UPDATE. `newest` is the highest number each run will have, 0 for no change."""
    if not newest:
        return {}
    values = [
        value for hold, seq in newest.items() for value in (_prepared(hold.run_id), hold.fence, seq)
    ]
    rows = ", ".join([_VALUES[connection.vendor]] * len(newest))
    lease = connection.ops.adapt_datetimefield_value(lease_until)
    statement = f"""
        WITH v(id, fence, seq) AS (VALUES {rows})
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


def _batches(cursors: Sequence[Cursor]) -> Iterator[Sequence[Cursor]]:
    for start in range(0, len(cursors), MOST_CURSORS):
        yield cursors[start : start + MOST_CURSORS]


def _uuid(value: Any) -> UUID:
    return value if isinstance(value, UUID) else UUID(value)
