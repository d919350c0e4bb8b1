"""Exchanges read back with everything their runs said, a few at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import Q

from agents.audit.event_codec import decode_event
from agents.core.chunks import Content, SystemMessage, Turn, kinds_read_by
from agents.core.run_record import RunRecord
from agents.models import AgentRun, RunEvent
from chat.models import Exchange
from chat.rendering.limit_notices import drop_replaced

BATCH_SIZE = 20
_TEXT_KINDS = (Turn.type, Content.type)
"""Of a run that has ended, the answer is on its row."""
_EVENT_KINDS = tuple(kind for kind in kinds_read_by("export") if kind not in _TEXT_KINDS)


@dataclass(slots=True)
class ExportedExchange:
    """One exchange. `number` counts from 1, in the order of the export."""

    number: int
    exchange: Exchange
    record: RunRecord = field(default_factory=RunRecord)

    @property
    def run(self) -> AgentRun:
        return self.exchange.run

    @property
    def notices(self) -> list[SystemMessage]:
        return drop_replaced(self.record.notices)

    @property
    def answer(self) -> str:
        """What is stored of it, if its run is still going."""
        return self.run.answer or self.record.answer


def iter_exchanges(exchange_ids: Sequence[UUID]) -> Iterator[ExportedExchange]:
    """These exchanges, in this order."""
    for start in range(0, len(exchange_ids), BATCH_SIZE):
        yield from _load_batch(exchange_ids[start : start + BATCH_SIZE], start + 1)


def _load_batch(exchange_ids: Sequence[UUID], first: int) -> list[ExportedExchange]:
    rows = Exchange.objects.select_related("run").in_bulk(exchange_ids)
    found = [rows[pk] for pk in exchange_ids if pk in rows]  # not pruned meanwhile
    entries = {row.run_id: ExportedExchange(first + n, row) for n, row in enumerate(found)}
    shown = Q(kind__in=_EVENT_KINDS) | Q(kind__in=_TEXT_KINDS, run__outcome__isnull=True)
    events = RunEvent.objects.filter(shown, run__in=entries).order_by("run", "seq")
    for event in events.iterator():
        if (chunk := decode_event(event)) is not None:
            entries[event.run_id].record.add(chunk)
    return list(entries.values())
