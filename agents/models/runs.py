"""One question to one terminal record, and everything that was said on the way."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from agents.core.reasons import Outcome
from agents.models.projects import Project

TERMINAL = "done"


class AgentRun(models.Model):
    """A run. It is active while `outcome` is null; then its lease says whose it is."""

    OUTCOMES = [(outcome.value, outcome.value.capitalize()) for outcome in Outcome]

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="runs"
    )
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="runs")
    conversation_key = models.UUIDField(null=True, blank=True, db_index=True)
    """The conversation it is part of; opaque here."""
    context_runs = models.JSONField(default=list)
    """Ids of the runs that are replayed to the model, oldest first."""
    continued_from = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="continuations"
    )
    client_message_id = models.CharField(max_length=64, null=True, blank=True)  # noqa: DJ001  # unique only when given

    question = models.TextField()
    answer = models.TextField(blank=True)
    """A cache of the events, written once with the terminal one."""
    explanation = models.TextField(blank=True)
    tree = models.CharField(max_length=64)
    model = models.CharField(max_length=200)
    config = models.JSONField()
    """The limits in force, as they were when the run began."""

    outcome = models.CharField(max_length=16, choices=OUTCOMES, null=True, blank=True)  # noqa: DJ001  # null: active
    reason = models.CharField(max_length=64, blank=True)
    also_triggered = models.JSONField(default=list)
    error = models.TextField(blank=True)
    wrapped_up = models.BooleanField(default=False)
    turns = models.PositiveIntegerField(default=0)
    tool_calls = models.PositiveIntegerField(default=0)
    tokens_in = models.PositiveIntegerField(default=0)
    tokens_out = models.PositiveIntegerField(default=0)
    usage_source = models.CharField(max_length=16, blank=True)

    started_at = models.DateTimeField(auto_now_add=True, db_index=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    last_seq = models.PositiveIntegerField(default=0)
    owner = models.CharField(max_length=200, blank=True)
    """Host, process and boot of the one process that may write."""
    fence = models.PositiveIntegerField(default=1)
    """Grows when the run is taken over; what an earlier owner writes is refused."""
    lease_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-started_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["conversation_key"],
                condition=Q(outcome__isnull=True, conversation_key__isnull=False),
                name="one_active_run_per_conversation",
            ),
            models.UniqueConstraint(
                fields=["user", "client_message_id"],
                condition=Q(client_message_id__isnull=False),
                name="one_run_per_client_message",
            ),
        ]
        indexes = [
            models.Index(
                fields=["lease_until"], condition=Q(outcome__isnull=True), name="active_runs"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.id} {self.reason or 'running'}"


class RunEvent(models.Model):
    """One chunk of a run: append-only. Only `content` may ever be erased; the digest stays."""

    run = models.ForeignKey(
        AgentRun,
        on_delete=models.CASCADE,
        related_name="events",
        db_index=False,  # the unique (run, seq) serves
    )
    seq = models.PositiveIntegerField()
    kind = models.CharField(max_length=32)
    data = models.JSONField(default=dict)
    content = models.TextField(blank=True)
    """What people and models wrote: text, arguments, results."""
    sha256 = models.CharField(max_length=64)
    """Of the canonical bytes of the whole chunk, taken before it was stored."""
    at = models.DateTimeField()

    class Meta:
        ordering = ["run", "seq"]
        constraints = [
            models.UniqueConstraint(fields=["run", "seq"], name="one_event_per_number"),
            models.UniqueConstraint(
                fields=["run"], condition=Q(kind=TERMINAL), name="one_terminal_event_per_run"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} #{self.seq} {self.kind}"
