"""Exchanges read back with everything their runs said, a few at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from agents.core.answer_sources import AnswerSources
from agents.core.chunks import Content, SystemMessage, kinds_read_by
from agents.core.run_record import RunRecord
from agents.ledger import load_chunks_of_runs
from agents.models import AgentRun
from chat.models import Exchange
from chat.rendering.limit_notices import drop_replaced

BATCH_SIZE = 20
_CLOSING_NOTICES = ("limit_reached", "cancelled")
"""Notices that are told last, after the answer."""
_ACTIVE_KINDS = kinds_read_by("export")
_EVENT_KINDS = tuple(kind for kind in _ACTIVE_KINDS if kind != Content.type)
"""Of a run that has ended, the answer is on its row."""


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

    def is_closing(self, notice: SystemMessage) -> bool:
        """Return whether it belongs behind the answer: by its kind, or told after the last turn."""
        turns = self.record.turns
        late = bool(turns) and notice.seq > turns[-1].seq
        return late or notice.system_type in _CLOSING_NOTICES

    @property
    def answer(self) -> str:
        """What is stored of it, if its run is still going."""
        return self.run.answer or self.record.answer

    @property
    def sources(self) -> AnswerSources:
        """Those that the answer stands on. Of a run that has ended, its row has the answer."""
        self.record.used_sources.read(self.answer)
        return self.record.used_sources

    @property
    def sources_note(self) -> str:
        is_continued = self.run.continued_from_id is not None
        return self.sources.note(self.run.outcome, is_continued=is_continued)


def iter_exchanges(exchange_ids: Sequence[UUID]) -> Iterator[ExportedExchange]:
    """Yield these exchanges, in this order."""
    for start in range(0, len(exchange_ids), BATCH_SIZE):
        yield from _load_batch(exchange_ids[start : start + BATCH_SIZE], start + 1)


def _load_batch(exchange_ids: Sequence[UUID], first: int) -> list[ExportedExchange]:
    rows = Exchange.objects.select_related("run").in_bulk(exchange_ids)
    found = [rows[pk] for pk in exchange_ids if pk in rows]  # not pruned meanwhile
    entries = {row.run_id: ExportedExchange(first + n, row) for n, row in enumerate(found)}
    whole = [row.run_id for row in found if row.run.outcome is None or _has_interim(row.run)]
    ended = [row.run_id for row in found if row.run_id not in set(whole)]
    for run_ids, kinds in ((ended, _EVENT_KINDS), (whole, _ACTIVE_KINDS)):
        for run_id, chunk in load_chunks_of_runs(run_ids, kinds):
            entries[run_id].record.add(chunk)
    return list(entries.values())


def _has_interim(run: AgentRun) -> bool:
    """Return whether it may have written something before its answer, which its row has not."""
    return run.mode != run.tree
