"""Who looked, exported, stopped, erased or let people in: chained like a run's events."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from agents.models.runs import AgentRun


class AuditEntry(models.Model):
    """Append-only: when a person is deleted, only `by` is forgotten."""

    class Verb(models.TextChoices):
        TRANSCRIPT = "transcript", "Opened a transcript"
        EXPORT = "export", "Exported runs"
        CANCEL = "cancel", "Stopped a run"
        ERASE = "erase", "Erased content"
        ERASE_UNFINISHED = "erase_unfinished", "Erased unfinished work of a subagent"
        """Of one call: what its subagent wrote. The run does not count as erased."""
        PROJECT = "project", "Changed a project"
        MEMBER = "member", "Changed who is in a project"
        SITE = "site", "Changed the settings of the site"
        DECIDE = "decide", "Decided what a run had asked"
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
