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

from agents.audit.event_codec import READ_ERRORS
from agents.audit.verify import verify_run
from agents.core.chunks import PARSE_ERRORS
from agents.models import AgentRun, AuditEntry

logger = logging.getLogger(__name__)

MAX_VERIFIED_EVENTS = 2_000
"""Events that are verified whenever the page is opened: of longer runs when somebody asks."""
MAX_ENTRIES = 50


@dataclass(frozen=True, slots=True)
class AuditEntryRow:
    """Somebody did something with this run."""

    at: datetime | None
    verb: str
    who: str
    detail: str


@dataclass(frozen=True, slots=True)
class IntegrityStatus:
    """`css_class` is ok, open, broken or unknown."""

    css_class: str
    sentence: str
    unchecked: bool = False


def get_integrity_status(
    run: AgentRun, entries: Sequence[AuditEntryRow], *, asked: bool
) -> IntegrityStatus:
    """Return what the chain says of a run. One in progress grows while it would be checked."""
    if run.outcome is None:
        return IntegrityStatus("open", "Not sealed yet: that happens when the run ends.")
    if run.last_seq > MAX_VERIFIED_EVENTS and not asked:
        return IntegrityStatus("unknown", "Not checked: the run has many events.", unchecked=True)
    finding = _find_damage(run.pk)
    if finding:
        return IntegrityStatus("broken", finding)
    erased = next((entry for entry in entries if entry.verb == _ERASE_LABEL and entry.at), None)
    if erased is not None:
        return IntegrityStatus(
            "ok", f"Erased on {erased.at:%-d %B %Y}. The rest of the record is intact."
        )
    return IntegrityStatus("ok", "Record intact")


def _find_damage(run_id: UUID) -> str:
    """Return what is wrong, if anything. The whole run is read here, and nothing of it is kept."""
    try:
        found = verify_run(AgentRun.objects.get(pk=run_id))
    except READ_ERRORS:
        logger.warning("run %s cannot be verified", run_id, exc_info=True)
        return "Damaged: it cannot be read."
    if found is None:
        return ""
    place = f" at event {found.seq}" if found.seq is not None else ""
    return f"Damaged{place}: {found.why}."


def list_audit_entries(run_id: UUID) -> list[AuditEntryRow]:
    """Return the newest entries about one run."""
    rows = (
        AuditEntry.objects.filter(run_id=run_id)
        .exclude(verb=AuditEntry.Verb.CLOSE)
        .annotate(raw=Cast("detail", TextField()))
    )
    columns = rows.order_by("-id").values_list("at", "verb", "by__username", "by_mark", "raw")
    try:
        return [_build_entry(*row) for row in columns[:MAX_ENTRIES]]
    except READ_ERRORS:
        return [AuditEntryRow(None, "The entries about this run cannot be read.", "", "")]


_VERB_LABELS = dict(AuditEntry.Verb.choices)
_ERASE_LABEL = str(_VERB_LABELS[AuditEntry.Verb.ERASE])
_DETAIL_FIELDS = ("reason", "why", "part", "page", "call")
"""What is said of an entry's detail."""


def _build_entry(
    at: datetime | None, verb: str, who: str | None, mark: str, raw: Any
) -> AuditEntryRow:
    try:
        detail = json.loads(raw)
    except PARSE_ERRORS:
        detail = {}
    known = detail if isinstance(detail, dict) else {}
    said = [f"{name}: {str(known[name])[:200]}" for name in _DETAIL_FIELDS if known.get(name)]
    nobody = "deleted user" if mark else "the server or the command line"
    return AuditEntryRow(at, str(_VERB_LABELS.get(verb, verb)), who or nobody, "; ".join(said))
