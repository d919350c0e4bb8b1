"""Whether a run's record is intact, in one sentence; and who has looked at it or done something."""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import TextField
from django.db.models.functions import Cast

from agents.admin.access import UNREADABLE
from agents.audit.verify import verify_run
from agents.models import AgentRun, AuditEntry

log = logging.getLogger(__name__)

MOST_EVENTS = 2_000
"""Events that are verified whenever the page is opened: of longer runs when somebody asks."""
MOST_ENTRIES = 50


@dataclass(frozen=True, slots=True)
class Entry:
    """Somebody did something with this run."""

    at: datetime | None
    verb: str
    who: str
    detail: str


@dataclass(frozen=True, slots=True)
class Seal:
    """`tone` is ok, open, broken or unknown."""

    tone: str
    sentence: str
    unchecked: bool = False


def seal(run: AgentRun, entries: Sequence[Entry], *, asked: bool) -> Seal:
    """What the chain says of a run. One that goes on grows while it would be checked."""
    if run.outcome is None:
        return Seal("open", "Not sealed yet: that happens when the run ends.")
    if run.last_seq > MOST_EVENTS and not asked:
        return Seal("unknown", "Not checked: the run has many events.", unchecked=True)
    finding = _finding(run.pk)
    if finding:
        return Seal("broken", finding)
    erased = next((entry for entry in entries if entry.verb == _ERASED and entry.at), None)
    if erased is not None:
        return Seal("ok", f"Erased on {erased.at:%-d %B %Y}. The rest of the record is intact.")
    return Seal("ok", "Record intact")


def _finding(run_id: UUID) -> str:
    """What is wrong, if anything. The whole run is read here, and nothing of it is kept."""
    try:
        found = verify_run(AgentRun.objects.get(pk=run_id))
    except UNREADABLE:
        log.warning("run %s cannot be verified", run_id, exc_info=True)
        return "Damaged: it cannot be read."
    if found is None:
        return ""
    place = f" at event {found.seq}" if found.seq is not None else ""
    return f"Damaged{place}: {found.why}."


def entries_of(run_id: UUID) -> list[Entry]:
    """The newest entries about one run."""
    rows = (
        AuditEntry.objects.filter(run_id=run_id)
        .exclude(verb=AuditEntry.Verb.CLOSE)
        .annotate(raw=Cast("detail", TextField()))
    )
    columns = rows.order_by("-id").values_list("at", "verb", "by__username", "by_mark", "raw")
    try:
        return [_entry(*row) for row in columns[:MOST_ENTRIES]]
    except UNREADABLE:
        return [Entry(None, "The entries about this run cannot be read.", "", "")]


_VERBS = dict(AuditEntry.Verb.choices)
_ERASED = str(_VERBS[AuditEntry.Verb.ERASE])
_SHOWN = ("reason", "why", "part", "page")
"""What is said of an entry's detail."""


def _entry(at: datetime | None, verb: str, who: str | None, mark: str, raw: Any) -> Entry:
    try:
        detail = json.loads(raw)
    except (ValueError, TypeError):
        detail = {}
    known = detail if isinstance(detail, dict) else {}
    said = [f"{name}: {str(known[name])[:200]}" for name in _SHOWN if known.get(name)]
    return Entry(
        at, str(_VERBS.get(verb, verb)), who or "nobody who is still here", "; ".join(said)
    )
