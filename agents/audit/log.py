"""Log who looked at, exported, stopped or erased runs."""

import json
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import connection, transaction

from agents.audit import signing
from agents.models.audit import AuditEntry
from agents.models.runs import AgentRun

_LOCK_ID = 0x0AC1E
"""PostgreSQL's advisory lock under which entries are appended: a link needs the one before it."""


def log_action(
    verb: str, *, by: User | None, run: AgentRun | None = None, **detail: Any
) -> AuditEntry:
    """Append one entry."""
    return _append([_build_entry(verb, by, run.pk if run else None, detail)])[0]


def log_details(verb: str, run_id: UUID, details: Iterable[dict[str, Any]]) -> None:
    """Append one entry about a run for each detail, done by nobody."""
    _append([_build_entry(verb, None, run_id, detail) for detail in details])


def log_actions(verb: str, runs: Iterable[UUID], *, by: User | None, **detail: Any) -> None:
    """Append one entry for each run."""
    _append([_build_entry(verb, by, run_id, detail) for run_id in runs])


def entry_digest(entry: AuditEntry) -> str:
    """Return the digest of everything but who it was, for which the mark stands."""
    facts = [entry.at.isoformat(), entry.by_mark, entry.verb, str(entry.run_id), entry.detail]
    return signing.digest(json.dumps(facts, sort_keys=True))


def _build_entry(
    verb: str, by: User | None, run_id: UUID | None, detail: dict[str, Any]
) -> AuditEntry:
    mark = signing.user_pseudonym(by.pk) if by else ""
    return AuditEntry(by=by, by_mark=mark, verb=verb, run_id=run_id, detail=detail)


def _append(entries: list[AuditEntry]) -> list[AuditEntry]:
    with transaction.atomic(savepoint=False):
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK_ID])
        last = AuditEntry.objects.order_by("-id").values_list("link", flat=True).first()
        links = signing.next_links(last or "", [entry_digest(entry) for entry in entries])
        for entry, link in zip(entries, links, strict=True):
            entry.link = link
        return AuditEntry.objects.bulk_create(entries)
