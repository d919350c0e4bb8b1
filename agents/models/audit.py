"""Who looked, exported, stopped or erased: a record of its own, chained like a run's events."""

import json
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, models, transaction
from django.utils import timezone

from agents.models import chain
from agents.models.runs import AgentRun

_LOCK = 0x0AC1E
"""PostgreSQL's advisory lock under which entries are appended: a link needs the one before it."""


class AuditEntry(models.Model):
    """Append-only: when a person is deleted, only `by` is forgotten."""

    class Verb(models.TextChoices):
        TRANSCRIPT = "transcript", "Opened a transcript"
        EXPORT = "export", "Exported runs"
        CANCEL = "cancel", "Stopped a run"
        ERASE = "erase", "Erased content"
        CLOSE = "close", "A run ended"
        """Recorded for every run with its seal: a run cannot be opened again, or go, unseen."""

    at = models.DateTimeField(default=timezone.now, db_index=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    by_mark = models.CharField(max_length=16, editable=False)
    verb = models.CharField(max_length=16, choices=Verb.choices)
    run = models.ForeignKey(
        AgentRun, on_delete=models.PROTECT, null=True, related_name="audit_entries"
    )
    detail = models.JSONField(default=dict)
    link = models.CharField(max_length=64, editable=False)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["verb", "id"], name="entries_by_verb")]
        verbose_name_plural = "audit entries"

    def __str__(self) -> str:
        return f"{self.get_verb_display()} {self.at:%Y-%m-%d %H:%M}"

    @property
    def is_signed(self) -> bool:
        """Whether its link follows from the entry before it."""
        before = AuditEntry.objects.filter(pk__lt=self.pk).order_by("-id")
        link = before.values_list("link", flat=True).first() or ""
        made = (chain.link_after(link, self.digest(), key) for key in chain.all_keys())
        return self.link in made

    def digest(self) -> str:
        """Of everything but who it was, for which the mark stands."""
        facts = [self.at.isoformat(), self.by_mark, self.verb, str(self.run_id), self.detail]
        return chain.digest(json.dumps(facts, sort_keys=True))


def record(verb: str, *, by: User | None, run: AgentRun | None = None, **detail: Any) -> AuditEntry:
    """Append one entry."""
    return _append([_entry(verb, by, run.pk if run else None, detail)])[0]


def record_each(verb: str, runs: Iterable[UUID], *, by: User | None, **detail: Any) -> None:
    """Append one entry for each run."""
    _append([_entry(verb, by, run_id, detail) for run_id in runs])


def _entry(verb: str, by: User | None, run_id: UUID | None, detail: dict[str, Any]) -> AuditEntry:
    mark = chain.mark(by.pk) if by else ""
    return AuditEntry(by=by, by_mark=mark, verb=verb, run_id=run_id, detail=detail)


def _append(entries: list[AuditEntry]) -> list[AuditEntry]:
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        last = AuditEntry.objects.order_by("-id").values_list("link", flat=True).first()
        links = chain.links(last or "", [entry.digest() for entry in entries])
        for entry, link in zip(entries, links, strict=True):
            entry.link = link
        return AuditEntry.objects.bulk_create(entries)
