"""Read the events of runs after a cursor, page by page: one query for all who ask."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from agents.audit.event_codec import EncodedEvent, decode_event
from agents.core.chunks import Done, OracleStreamChunk
from agents.ledger.queries import build_placeholders, parse_id, prepare_id

PAGE_SIZE = 500
"""Events of one run that one read brings."""
MAX_CURSORS = 300
"""Runs that one statement reads; a database takes only so many values in one."""


class EventCursor(NamedTuple):
    """What a reader has of a run: everything up to a number."""

    run_id: UUID
    after: int


class ChunkPage(NamedTuple):
    """What one read brings of a run: chunks this version knows, up to a number."""

    chunks: list[OracleStreamChunk]
    last_seq: int
    is_full: bool
    """Whether there may be more than one read brings."""

    @property
    def is_last(self) -> bool:
        """Whether the run ends here."""
        last = self.chunks[-1] if self.chunks else None
        return isinstance(last, Done) and not last.parent


class _Row(NamedTuple):
    seq: int
    kind: str
    data: str
    content: str
    at: datetime


class _Event(NamedTuple):
    seq: int
    kind: str
    data: Mapping[str, Any]
    content: str
    at: datetime


def read(cursors: Sequence[EventCursor]) -> dict[EventCursor, ChunkPage]:
    """Return what comes next after each cursor, if anything: one query for all of them.

    Numbers have no gaps, so a range of them is as good as a limit, and bounded for each run.
    """
    found: dict[tuple[Any, int], list[_Row]] = {}
    for start in range(0, len(cursors), MAX_CURSORS):
        some = cursors[start : start + MAX_CURSORS]
        values = [v for c in some for v in (prepare_id(c.run_id), c.after, c.after + PAGE_SIZE)]
        statement = f"""
            WITH v(id, above, most) AS (VALUES {build_placeholders(len(some))})
            SELECT v.id, v.above, e.seq, e.kind, e.data, e.content, e.at
            FROM v JOIN agents_runevent e
              ON e.run_id = v.id AND e.seq > v.above AND e.seq <= v.most
            ORDER BY v.id, v.above, e.seq
        """  # noqa: S608  # only placeholders are joined
        with connection.cursor() as cursor:
            cursor.execute(statement, values)
            for run_id, above, *event in cursor.fetchall():
                found.setdefault((run_id, above), []).append(_Row(*event))
    return {
        EventCursor(parse_id(run_id), above): build_page(events)
        for (run_id, above), events in found.items()
    }


def iter_pages(run_id: UUID) -> Iterator[ChunkPage]:
    """Yield everything that is stored of a run, piece by piece."""
    cursor = EventCursor(run_id, 0)
    while page := read([cursor]).get(cursor):
        yield page
        cursor = EventCursor(run_id, page.last_seq)


def build_page(rows: Sequence[_Row | EncodedEvent]) -> ChunkPage:
    """Return what some rows of a run say, in their order."""
    chunks = (decode_event(_parse_row(row)) for row in rows)
    return ChunkPage(
        [chunk for chunk in chunks if chunk is not None], rows[-1].seq, len(rows) == PAGE_SIZE
    )


def _parse_row(row: _Row | EncodedEvent) -> _Event:
    values = {} if row.data == "{}" else json.loads(row.data)
    at = row.at if row.at.tzinfo else row.at.replace(tzinfo=UTC)
    return _Event(row.seq, row.kind, values, row.content, at)
