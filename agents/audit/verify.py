"""Is the record intact? Names the first link that is broken, and why."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from agents.models import AgentRun, AuditEntry, RunEvent, chain
from agents.models.encoding import digest_of, signed_of
from agents.models.runs import TERMINAL

SOME = 1_000
"""Events that are read at a time."""


@dataclass(frozen=True)
class Finding:
    """Where a record is broken first. `seq` is None when it is the run's own row."""

    seq: int | None
    why: str

    def __str__(self) -> str:
        return self.why if self.seq is None else f"event {self.seq}: {self.why}"


def verify_run(run: AgentRun) -> Finding | None:
    """The first thing that is wrong with a run, or None."""
    return _Check(run).finding()


def verify_entries() -> Finding | None:
    """The same for the record of who looked, exported, stopped and erased."""
    link = ""
    for entry in AuditEntry.objects.order_by("id").iterator(SOME):
        link = next((one for one in _links(link, entry.digest()) if one == entry.link), "")
        if not link:
            return Finding(entry.pk, "this entry or the one before it was changed or removed")
        if entry.by_id is not None and entry.by_mark not in _marks(entry.by_id):
            return Finding(entry.pk, "it names somebody else than it did")
    return None


def _links(previous: str, digest: str) -> Iterator[str]:
    return (chain.link_after(previous, digest, key) for key in chain.all_keys())


def _marks(user_id: int) -> tuple[str, ...]:
    return tuple(chain.mark(user_id, key) for key in chain.all_keys())


class _Check:
    def __init__(self, run: AgentRun) -> None:
        self.run = run
        self.link = run.first_link
        self.seq = 0
        self.has_ended = False
        self.is_erased = run.is_erased and _erasure_is_recorded(run.pk)

    def finding(self) -> Finding | None:
        try:
            return self._start() or self._events() or self._end()
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            return Finding(self.seq + 1, f"it cannot be read ({type(error).__name__})")

    def _start(self) -> Finding | None:
        run = self.run
        if run.first_link not in (chain.first_link(run, key) for key in chain.all_keys()):
            return Finding(None, "what the run started from is not what was signed")
        if run.user_id is not None and run.digests["user"] not in _marks(run.user_id):
            return Finding(None, "the run belongs to somebody else than it did")
        if run.user_id is None and run.outcome is not None and not self.is_erased:
            return Finding(None, "the run belongs to nobody, and no erasure is recorded")
        return None

    def _events(self) -> Finding | None:
        events = (
            RunEvent.objects.filter(run=self.run)
            .order_by("seq")
            .values_list("seq", "kind", "data", "content", "sha256", "link", "at", named=True)
        )
        for event in events.iterator(SOME):
            if (why := self._broken(event)) is not None:
                return Finding(self.seq + 1, why)
            self.seq, self.link = event.seq, event.link
            self.has_ended = self.has_ended or event.kind == TERMINAL
        if self.seq != self.run.last_seq:
            return Finding(self.seq + 1, f"events are missing up to {self.run.last_seq}")
        return None

    def _broken(self, event: Any) -> str | None:
        if event.seq != self.seq + 1:
            return f"it is missing; the next one is {event.seq}"
        if event.link not in _links(self.link, signed_of(event, event.sha256)):
            return "it or its link is not what was recorded"
        if self.is_erased and not event.content:
            return None  # nothing is left to compare with its digest, which the link covers
        if digest_of(event) != event.sha256:
            return "its content is not what was recorded"
        return None

    def _end(self) -> Finding | None:
        run = self.run
        if run.outcome is None:
            return (
                Finding(self.seq, "it has ended, but its row is open") if self.has_ended else None
            )
        if not self.has_ended:
            return Finding(self.seq, "the run is closed, but its last event is missing")
        if run.seal not in (chain.seal(run, self.link, key) for key in chain.all_keys()):
            return Finding(None, "how the run ended is not what was sealed")
        for name in chain.TEXTS:
            if not (self.is_erased and not getattr(run, name)) and (
                chain.digest(getattr(run, name)) != run.digests[name]
            ):
                return Finding(None, f"its {name.replace('_', ' ')} was changed")
        return None


def _erasure_is_recorded(run_id: UUID) -> bool:
    return AuditEntry.objects.filter(run=run_id, verb=AuditEntry.Verb.ERASE).exists()
