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
from agents.models import AgentRun, RunTool, chain
from agents.models.audit import record
from agents.models.encoding import Row, chunk_of, row_of
from agents.models.erasing import erase


@dataclass(frozen=True, slots=True)
class Hold:
    """A process's claim to a run: valid while the row's fence is this one."""

    run_id: UUID
    fence: int


@dataclass(frozen=True, slots=True)
class Ending:
    """What there is to say of a run that has ended: columns of its row, and of its tools."""

    values: Mapping[str, Any]
    tools: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Commit:
    """What one commit writes of one run: events, and its last words if it has ended."""

    hold: Hold
    chunks: Sequence[Chunk]
    final: Ending | None = None


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


class Standing(NamedTuple):
    """What the database says of a run that is still ours."""

    is_cancelled: bool
    cancel_note: str
    link: str
    """The newest of its chain."""


Held = dict[UUID, Standing]
"""Runs that are still ours."""


def write(commits: Sequence[Commit], lease: timedelta) -> Held:
    """Store the events of every run that is still ours, all together or not at all."""
    rows = [[row_of(chunk) for chunk in commit.chunks] for commit in commits]  # before the lock
    with transaction.atomic():
        newest = {commit.hold: commit.chunks[-1].seq for commit in commits}
        held = _renew(newest, timezone.now() + lease)
        inserted: list[tuple[Any, ...]] = []
        endings: list[tuple[Commit, str]] = []
        for commit, written in zip(commits, rows, strict=True):
            if (standing := held.get(commit.hold.run_id)) is not None:
                links = chain.links(standing.link, [row.signed for row in written])
                inserted += _values(commit.hold.run_id, written, links)
                endings.append((commit, links[-1]))
        _insert(inserted)
        for commit, link in endings:
            if commit.final is not None:
                _close(commit.hold.run_id, commit.final, link)
    return held


def _values(run_id: UUID, rows: list[Row], links: list[str]) -> Iterator[tuple[Any, ...]]:
    run, adapt = _prepared(run_id), connection.ops.adapt_datetimefield_value
    for row, link in zip(rows, links, strict=True):
        yield (run, row.seq, row.kind, row.data, row.content, row.sha256, link, adapt(row.at))


def _close(run_id: UUID, final: Ending, link: str) -> None:
    """Write a run's last words, count what it used, and seal it."""
    RunTool.objects.bulk_create(RunTool(run_id=run_id, **tool) for tool in final.tools)
    run = AgentRun.objects.get(pk=run_id)
    for name, value in final.values.items():
        setattr(run, name, value)
    count(run)
    chain.close(run, link, final.tools)
    run.save(update_fields=[*final.values, *_COUNTED])
    record("close", by=None, run=run, seal=run.seal)
    if run.user_id is None:  # they were deleted while it went on
        erase([run_id], why="user deleted")


def count(run: AgentRun) -> None:
    """What a run that has ended took, and how much of each limit that was."""
    run.tokens = run.tokens_in + run.tokens_out
    if run.ended_at is not None:
        took = run.ended_at - run.started_at
        run.duration_ms = max(0, round(took.total_seconds() * 1000))
        run.time_percent = round(run.duration_ms / 10 / run.config["timeout_seconds"])
    run.turns_percent = round(100 * run.turns / run.config["max_iterations"])
    run.tokens_percent = round(100 * run.tokens / run.config["token_budget"])


_COUNTED = (
    "tokens",
    "duration_ms",
    "turns_percent",
    "tokens_percent",
    "time_percent",
    "digests",
    "seal",
)


def _insert(rows: list[tuple[Any, ...]]) -> None:
    """By hand, many rows to a statement: nearly everything that is stored passes here."""
    for start in range(0, len(rows), MOST_INSERTED):
        some = rows[start : start + MOST_INSERTED]
        values = ", ".join(["(%s, %s, %s, %s, %s, %s, %s, %s)"] * len(some))
        statement = f"""
            INSERT INTO agents_runevent (run_id, seq, kind, data, content, sha256, link, at)
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
        RETURNING agents_agentrun.id,
            agents_agentrun.cancel_requested_at,
            agents_agentrun.cancel_note,
            COALESCE(
                (SELECT e.link FROM agents_runevent e
                 WHERE e.run_id = agents_agentrun.id ORDER BY e.seq DESC LIMIT 1),
                agents_agentrun.first_link
            )
    """  # noqa: S608  # only placeholders are joined
    with connection.cursor() as cursor:
        cursor.execute(statement, [*values, lease])
        return {
            _uuid(found): Standing(cancel is not None, note, link)
            for found, cancel, note, link in cursor.fetchall()
        }


_VALUES = {"sqlite": "(%s, %s, %s)", "postgresql": "(%s::uuid, %s::int, %s::int)"}


def _prepared(run_id: UUID) -> Any:
    """A run's id as this database takes it."""
    return AgentRun._meta.pk.get_db_prep_value(run_id, connection)


def _placeholders(rows: int) -> str:
    return ", ".join([_VALUES[connection.vendor]] * rows)


def _uuid(value: Any) -> UUID:
    return value if isinstance(value, UUID) else UUID(value)
