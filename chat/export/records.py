"""Exchanges read back with everything their runs said, a few at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import Q

from agents.core.record import RunRecord
from agents.models import AgentRun, RunEvent
from agents.models.encoding import chunk_of
from chat.models import Exchange

BATCH = 20
_KINDS = ("tool_call", "tool_result", "source", "system", "error")
_TEXT = ("turn", "content")
"""Of a run that has ended, the answer is on its row."""


@dataclass(slots=True)
class Entry:
    """One exchange. `number` counts from 1, in the order of the export."""

    number: int
    exchange: Exchange
    record: RunRecord = field(default_factory=RunRecord)

    @property
    def run(self) -> AgentRun:
        return self.exchange.run

    @property
    def answer(self) -> str:
        """What is stored of it, if its run is still going."""
        return self.run.answer or self.record.answer


def read(exchange_ids: Sequence[UUID]) -> Iterator[Entry]:
    """These exchanges, in this order."""
    for start in range(0, len(exchange_ids), BATCH):
        yield from _batch(exchange_ids[start : start + BATCH], start + 1)


def _batch(exchange_ids: Sequence[UUID], first: int) -> list[Entry]:
    rows = Exchange.objects.select_related("run").in_bulk(exchange_ids)
    found = [rows[pk] for pk in exchange_ids if pk in rows]  # not pruned meanwhile
    entries = {row.run_id: Entry(first + n, row) for n, row in enumerate(found)}
    shown = Q(kind__in=_KINDS) | Q(kind__in=_TEXT, run__outcome__isnull=True)
    events = RunEvent.objects.filter(shown, run__in=entries).order_by("run", "seq")
    for event in events.iterator():
        if (chunk := chunk_of(event)) is not None:
            entries[event.run_id].record.add(chunk)
    return list(entries.values())
