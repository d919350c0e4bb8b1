"""Events that this process has just committed, for its own readers.

Nearly all reading is done by somebody who waits for a run of the same process. What they would
find in the rows was in this process's hands a moment ago; it is decoded from what was stored, so
they cannot tell the difference. Whoever is further behind reads the rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from agents.audit.event_codec import EncodedEvent
from agents.ledger.pages import PAGE_SIZE, ChunkPage, EventCursor, build_page

MAX_SIZE = 256_000
"""Characters that are kept of a run."""


@dataclass(slots=True)
class _Kept:
    """The newest events of a run, without gaps."""

    events: list[EncodedEvent]
    size: int
    page: tuple[int, ChunkPage] | None = None
    """What was read last, and after which number: several may follow a run."""


class RecentEvents:
    """The newest events of the runs that are followed here."""

    def __init__(self) -> None:
        self._runs: dict[UUID, _Kept] = {}

    def add(self, run_id: UUID, events: Sequence[EncodedEvent]) -> None:
        """Keep events that come after those that are kept. Of many, the newest commit's."""
        size = sum(len(event.content) + len(event.data) for event in events)
        kept = self._runs.get(run_id)
        if kept and len(kept.events) + len(events) <= PAGE_SIZE and kept.size + size <= MAX_SIZE:
            kept.events += events
            kept.size, kept.page = kept.size + size, None
        elif len(events) <= PAGE_SIZE and size <= MAX_SIZE:
            self._runs[run_id] = _Kept(list(events), size)
        else:
            self.drop(run_id)

    def drop(self, run_id: UUID) -> None:
        self._runs.pop(run_id, None)

    def read(self, cursor: EventCursor) -> ChunkPage | None:
        """Return what comes next after a cursor, if all of it is kept."""
        kept = self._runs.get(cursor.run_id)
        if kept is None:
            return None
        if kept.page is not None and kept.page[0] == cursor.after:
            return kept.page[1]
        start = cursor.after + 1 - kept.events[0].seq
        if not 0 <= start < len(kept.events):
            return None
        page = build_page(kept.events[start:])
        kept.page = (cursor.after, page)
        return page
