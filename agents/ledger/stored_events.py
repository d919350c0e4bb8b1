"""Read stored events back: as chunks for whoever shows or replays runs, as rows for audits.

Everybody outside the ledger and the audit gets events here; those who wait for more of them follow
a run by the reader.
"""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast
from pydantic_core import from_json

from agents.audit.event_codec import READ_ERRORS, decode_event
from agents.core.chunks import PARSE_ERRORS, OracleStreamChunk
from agents.core.run_record import RunRecord
from agents.ledger.pages import iter_pages
from agents.models import RunEvent

ROW_COLUMNS = ("seq", "kind", "data_text", "content", "at")
"""What `decode_row` takes."""


class _StoredEvent(NamedTuple):
    seq: int
    kind: str
    data: dict[str, Any]
    content: str
    at: datetime


def load_chunks(run_id: UUID, kinds: Collection[str] | None = None) -> Iterator[OracleStreamChunk]:
    """Return the chunks of a run in their order: of these kinds, or all, page by page."""
    if kinds is None:
        return (chunk for page in iter_pages(run_id) for chunk in page.chunks)
    return (chunk for _, chunk in load_chunks_of_runs([run_id], kinds))


def load_chunks_of_runs(
    run_ids: Collection[UUID], kinds: Collection[str]
) -> Iterator[tuple[UUID, OracleStreamChunk]]:
    """Return the chunks of these kinds, run after run, each with its run's id: in one query."""
    found = query_events(run_ids).filter(kind__in=kinds).order_by("run", "seq")
    for run_id, *values in found.values_list("run_id", *_StoredEvent._fields).iterator():
        if (chunk := decode_event(_StoredEvent(*values))) is not None:
            yield run_id, chunk


def load_notices_of_runs(
    run_ids: Collection[UUID], events: Collection[str]
) -> Iterator[tuple[UUID, OracleStreamChunk]]:
    """Return the notices of runs and the records of these events, each with its run's id. What is
    damaged is left out."""
    named = Q()
    for name in events:
        named |= Q(data_text__contains=f'"{name}"')
    found = (
        query_events(run_ids)
        .annotate(data_text=Cast("data", TextField()))
        .filter(Q(kind="system") | (Q(kind="event") & named))
    )
    rows = found.order_by().values_list("run_id", "seq", "kind", "data_text", "content", "at")
    for run_id, *values in rows:
        try:
            chunk = decode_row(*values)
        except PARSE_ERRORS:
            continue
        if chunk is not None:
            yield run_id, chunk


def load_rows_of_runs(
    run_ids: Collection[UUID],
    kinds: Collection[str],
    columns: Collection[str] = ROW_COLUMNS,
    *,
    decisions_with: str = "",
) -> dict[UUID, list[tuple[Any, ...]]]:
    """Return the rows of these kinds by run, in one query: of decisions those that have this in
    them, and of a call the one that says what it asked for.

    JSON is read as text: what cannot be parsed is then one run's damage, not everybody's.
    """
    found = (
        query_events(run_ids)
        .filter(kind__in=kinds)
        .order_by("run", "seq")
        .annotate(data_text=Cast("data", TextField()), run_name=Cast("run_id", TextField()))
        .exclude(kind="tool_call", data_text__contains='"status": "running"')  # it was pending
    )
    if decisions_with:
        found = found.exclude(~Q(data_text__contains=decisions_with), kind="decision")
    rows = found.values_list("run_name", *columns)
    by_name = {name: run_id for run_id in run_ids for name in (run_id.hex, str(run_id))}
    return {
        by_name[name]: [row[1:] for row in rows_of_run]
        for name, rows_of_run in groupby(rows, key=itemgetter(0))
    }


def decode_row(
    seq: int, kind: str, data: str, content: str, at: datetime
) -> OracleStreamChunk | None:
    """Return the chunk of a row whose JSON was read as text, so that damage is one run's."""
    return decode_event(_StoredEvent(seq, kind, from_json(data), content, at))


def decode_undamaged(rows: Iterable[tuple[Any, ...]]) -> Iterator[OracleStreamChunk]:
    """Return the chunks of a run's rows, as `decode_row` takes them, without those of subagents.

    Never raises: what is damaged is left out, and everything if the rows cannot be read.
    """
    try:
        found = list(rows)
    except READ_ERRORS:  # the page of the run says that it is damaged
        return
    for row in found:
        try:
            chunk = decode_row(*row)
        except PARSE_ERRORS:
            continue
        if chunk is not None and not chunk.parent:
            yield chunk


def load_run_record(run_id: UUID) -> RunRecord:
    """Return everything that is stored of a run, put together."""
    record = RunRecord()
    for chunk in load_chunks(run_id):
        record.add(chunk)
    return record


def query_events(run_ids: Collection[UUID]) -> QuerySet[RunEvent]:
    """Return the rows themselves, for those who look at what may be damaged."""
    if len(run_ids) == 1:  # a plan of its own, and the common one
        return RunEvent.objects.filter(run_id=next(iter(run_ids)))
    return RunEvent.objects.filter(run_id__in=run_ids)
