"""Is the record intact? Names the first link that is broken, and why."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef

from agents.audit import signing
from agents.audit.event_codec import READ_ERRORS, event_digest, signed_payload
from agents.audit.log import entry_digest
from agents.models import AgentRun, AuditEntry, RunEvent
from agents.models.runs import TERMINAL

BATCH_SIZE = 1_000
"""Events that are read at a time."""
CLOSE = AuditEntry.Verb.CLOSE


@dataclass(frozen=True)
class Finding:
    """Where a record is broken first. `seq` is None when it is the run's own row."""

    seq: int | None
    why: str

    def __str__(self) -> str:
        return self.why if self.seq is None else f"event {self.seq}: {self.why}"


def verify_run(run: AgentRun) -> Finding | None:
    """Return the first thing that is wrong with a run, or None."""
    if _RunVerifier(run).verify() is None:
        return None
    fresh = AgentRun.objects.filter(pk=run.pk).first()  # it may have gone on, or been erased
    return _RunVerifier(fresh).verify() if fresh else Finding(None, "the run was removed")


def verify_id(run_id: UUID) -> Finding | None:
    """Return the same by id, also when its row cannot be read."""
    try:
        run = AgentRun.objects.get(pk=run_id)
    except (*READ_ERRORS, AgentRun.DoesNotExist) as error:
        return Finding(None, f"its row cannot be read ({type(error).__name__})")
    return verify_run(run)


def is_signed(entry: AuditEntry) -> bool:
    """Return whether an entry's link follows from the entry before it."""
    before = AuditEntry.objects.filter(pk__lt=entry.pk).order_by("-id")
    link = before.values_list("link", flat=True).first() or ""
    return entry.link in _possible_links(link, entry_digest(entry))


def verify_entries() -> Finding | None:
    """Return the same for the record of who looked, exported, stopped and erased."""
    number, link, known = 0, "", _current_pseudonyms()
    try:
        for entry in AuditEntry.objects.order_by("id").iterator(BATCH_SIZE):
            number = entry.pk
            link = next(
                (one for one in _possible_links(link, entry_digest(entry)) if one == entry.link), ""
            )
            if not link:
                return Finding(number, "this entry or the one before it was changed or removed")
            if entry.by_id is not None and entry.by_mark not in _user_pseudonyms(entry.by_id):
                return Finding(number, "it names a different user than recorded")
            if entry.by_id is None and entry.by_mark in known:
                return Finding(number, "it names no user, but the user still exists")
    except READ_ERRORS as error:
        return Finding(number + 1, f"it cannot be read ({type(error).__name__})")
    there = AgentRun.objects.filter(pk=OuterRef("run_id"))
    gone = AuditEntry.objects.filter(~Exists(there), verb=CLOSE).first()
    return Finding(gone.pk, "its run was removed") if gone else None


def _possible_links(previous: str, digest: str) -> Iterator[str]:
    return (signing.next_link(previous, digest, key) for key in signing.all_keys())


def _current_pseudonyms() -> frozenset[str]:
    """Return those of everybody who is not deleted."""
    ids = User.objects.values_list("pk", flat=True)
    return frozenset(mark for user_id in ids for mark in _user_pseudonyms(user_id))


def _user_pseudonyms(user_id: int) -> tuple[str, ...]:
    return tuple(signing.user_pseudonym(user_id, key) for key in signing.all_keys())


class _RunVerifier:
    def __init__(self, run: AgentRun) -> None:
        self.run = run
        self.link = run.first_link
        self.seq = 0
        self.has_ended = False
        self.is_erased = run.is_erased and _erasure_is_recorded(run.pk)
        self.unfinished: frozenset[str] = frozenset()

    def verify(self) -> Finding | None:
        try:
            return self._verify_start() or self._verify_events() or self._verify_end()
        except READ_ERRORS as error:
            return Finding(self.seq + 1, f"it cannot be read ({type(error).__name__})")

    def _verify_start(self) -> Finding | None:
        run = self.run
        if run.first_link not in (signing.first_link(run, key) for key in signing.all_keys()):
            return Finding(None, "what the run started from is not what was signed")
        if signing.OWN_BEHAVIOUR in run.digests and not self._is_as_digested("behaviour"):
            return Finding(None, "its behaviour was changed")
        if run.user_id is not None and run.digests["user"] not in _user_pseudonyms(run.user_id):
            return Finding(None, "the run belongs to a different user than recorded")
        if run.user_id is None and run.outcome is not None and not self.is_erased:
            return Finding(None, "the run belongs to nobody, and no erasure is recorded")
        if run.user_id is None and run.digests["user"] in _current_pseudonyms():
            return Finding(None, "the run belongs to no user, but the user still exists")
        return None

    def _verify_events(self) -> Finding | None:
        self.unfinished = _unfinished_calls(self.run.pk)
        events = (
            RunEvent.objects.filter(run=self.run)
            .order_by("seq")
            .values_list("seq", "kind", "data", "content", "sha256", "link", "at", named=True)
        )
        for event in events.iterator(BATCH_SIZE):
            if (why := self._find_event_fault(event)) is not None:
                return Finding(self.seq + 1, why)
            self.seq, self.link = event.seq, event.link
            self.has_ended = self.has_ended or event.kind == TERMINAL
        if self.seq < self.run.last_seq or (self.run.outcome and self.seq > self.run.last_seq):
            return Finding(self.seq + 1, f"events are missing up to {self.run.last_seq}")
        return None

    def _find_event_fault(self, event: Any) -> str | None:
        if event.seq != self.seq + 1:
            return f"it is missing; the next one is {event.seq}"
        if event.link not in _possible_links(self.link, signed_payload(event, event.sha256)):
            return "it or its link is not what was recorded"
        if not event.content and (self.is_erased or event.data.get("parent") in self.unfinished):
            return None  # nothing is left to compare with its digest, which the link covers
        if event_digest(event) != event.sha256:
            return "its content is not what was recorded"
        return None

    def _verify_end(self) -> Finding | None:
        run = self.run
        closings = list(AuditEntry.objects.filter(run=run, verb=CLOSE)[:2])
        if run.outcome is None:
            is_over = self.has_ended or bool(closings)
            return Finding(self.seq, "it has ended, but its row is open") if is_over else None
        if not self.has_ended:
            return Finding(self.seq, "the run is closed, but its last event is missing")
        if run.seal not in (signing.seal(run, self.link, key) for key in signing.all_keys()):
            return Finding(None, "how the run ended is not what was sealed")
        if len(closings) != 1:
            return Finding(None, f"its end is in the audit log {len(closings)} times")
        if closings[0].detail.get("seal") != run.seal or not is_signed(closings[0]):
            return Finding(None, "the audit log records a different end")
        if signing.tools_digest(run.tools.values(*signing.TOOL_FIELDS)) != run.digests["tools"]:
            return Finding(None, "what it used of its tools was changed")
        for name in signing.ERASABLE_TEXTS:
            if not self._is_as_digested(name):
                return Finding(None, f"its {name.replace('_', ' ')} was changed")
        return None

    def _is_as_digested(self, name: str) -> bool:
        """Return whether a text is what its digest says, or was erased."""
        text = getattr(self.run, name)
        return (self.is_erased and not text) or signing.digest(text) == self.run.digests[name]


def _erasure_is_recorded(run_id: UUID) -> bool:
    entry = AuditEntry.objects.filter(run=run_id, verb=AuditEntry.Verb.ERASE).first()
    return entry is not None and is_signed(entry)


def _unfinished_calls(run_id: UUID) -> frozenset[str]:
    """Return the calls whose subagents' words were erased, as far as that was really recorded."""
    entries = AuditEntry.objects.filter(run=run_id, verb=AuditEntry.Verb.ERASE_UNFINISHED)
    return frozenset(str(entry.detail["call"]) for entry in entries if is_signed(entry))
