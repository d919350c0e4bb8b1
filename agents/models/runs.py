"""One question to one terminal record, and everything that was said on the way."""

import uuid
from datetime import date

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from agents.core.reasons import Outcome
from agents.models.projects import Project

TERMINAL = "done"
DEFAULT_BEHAVIOUR = "oracle-agent"
"""What drives runs that have chosen no behaviour."""
ERASED_BEHAVIOUR = "own behaviour"
"""What stands for the name of one that somebody wrote, when it was erased with what was said."""


def today() -> date:
    return timezone.now().date()


class AgentRun(models.Model):
    """A run. It is active while `outcome` is null; then it belongs to its `owner`."""

    OUTCOMES = [(outcome.value, outcome.value.capitalize()) for outcome in Outcome]

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        related_name="runs",
        db_index=False,  # the list's index begins with it
    )
    """Who asked; nobody once they are deleted."""
    project = models.ForeignKey(
        Project,
        on_delete=models.PROTECT,
        related_name="runs",
        db_index=False,  # the same
    )
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
    """The decision tree."""
    behaviour = models.CharField(max_length=60, blank=True, default="")
    """What drove it, by name; empty: the plain string of turns, or the name was erased."""
    behaviour_digest = models.CharField(max_length=64, blank=True, default="")
    """Of the text that it began with (BehaviourText), whatever becomes of the file."""
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
    tokens = models.PositiveIntegerField(default=0)
    """In and out together."""
    turns_percent = models.PositiveIntegerField(null=True, editable=False)
    tokens_percent = models.PositiveIntegerField(null=True, editable=False)
    time_percent = models.PositiveIntegerField(null=True, editable=False)
    """How much of each limit was used."""
    usage_source = models.CharField(max_length=16, blank=True)

    started_at = models.DateTimeField(default=timezone.now, db_index=True)
    day = models.DateField(default=today, editable=False)
    """Of its start, in UTC: kept, because a database is slow at telling it."""
    ended_at = models.DateTimeField(null=True, blank=True)
    duration_ms = models.PositiveBigIntegerField(null=True, editable=False)
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    cancel_note = models.TextField(blank=True)
    """Why somebody else stopped it, for the one who asked."""
    last_seq = models.PositiveIntegerField(default=0)
    owner = models.CharField(max_length=200, blank=True)
    """The id of the `ProcessLease` of the one process that may write. Its row may be gone."""
    fence = models.PositiveIntegerField(default=1)
    """Grows when the run is taken over; what an earlier owner writes is refused."""

    first_link = models.CharField(max_length=64, default="", editable=False)
    seal = models.CharField(max_length=64, blank=True, editable=False)
    digests = models.JSONField(default=dict, editable=False)
    """The chain (agents/audit/signing.py): what it starts with, what closes it, and the digests of
    texts that may be erased."""

    class Meta:
        ordering = ["-started_at", "id"]
        permissions = [
            ("view_content", "Can read what was asked, answered and done"),
            ("export_runs", "Can export runs"),
            ("cancel_runs", "Can stop runs of other people"),
        ]
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
            # Of columns that no commit writes: PostgreSQL then leaves all indexes as they are.
            models.Index(fields=["owner"], condition=Q(outcome__isnull=True), name="active_runs"),
            # Whatever the audit's list is filtered by, it is in order of time.
            *(
                models.Index(fields=[name, "started_at"], name=f"runs_by_{name}")
                for name in ("user", "project", "outcome", "reason", "model", "tree")
            ),
            models.Index(
                fields=["behaviour_digest"],
                condition=~Q(behaviour_digest=""),
                name="runs_by_behaviour",
            ),
            # Everything that its charts count: they never touch the table, whose rows are wide.
            models.Index(
                fields=[
                    "day",
                    "reason",
                    "outcome",
                    "model",
                    "tree",
                    "user",
                    "project",
                    "tokens",
                    "turns_percent",
                    "tokens_percent",
                    "time_percent",
                ],
                name="runs_by_day",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.id} {self.reason or 'running'}"

    @property
    def mode(self) -> str:
        """What was chosen for it: a behaviour, or the decision tree of those that chose none."""
        name = self.behaviour_name
        return name if name not in ("", DEFAULT_BEHAVIOUR) else self.tree

    @property
    def behaviour_name(self) -> str:
        """What drove it, or what stands for that."""
        return self.behaviour or (ERASED_BEHAVIOUR if self.behaviour_digest else "")

    @property
    def is_erased(self) -> bool:
        """Whether what was said is gone; a run always has a question."""
        return not self.question


class ProcessLease(models.Model):
    """A process that drives runs. They are its own for as long as it renews this row."""

    id = models.CharField(primary_key=True, max_length=200)
    host = models.CharField(max_length=200)
    pid_namespace = models.CharField(max_length=100, blank=True)
    """The host's boot and PID namespace: in another container `pid` is another process. Empty if
    the host does not tell."""
    pid = models.PositiveIntegerField()
    started = models.CharField(max_length=100, blank=True)
    """When the process began, in its host's own terms; empty if the host does not tell."""
    renewed_at = models.DateTimeField()
    """By the clock of the database, never by that of a process."""
    renewals = models.PositiveBigIntegerField(default=0)
    """Counts them, so that two looks tell a living process from a dead one by no clock at all."""

    def __str__(self) -> str:
        return self.id


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
    link = models.CharField(max_length=64, default="")
    """Made from this digest and the link before it, with a key."""
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


class RunTool(models.Model):
    """What a run used of one tool: counted when it ended, for the charts."""

    run = models.ForeignKey(
        AgentRun,
        on_delete=models.PROTECT,
        related_name="tools",
        db_index=False,  # the unique (run, name) serves
    )
    name = models.CharField(max_length=200)
    calls = models.PositiveIntegerField()
    failed = models.PositiveIntegerField()
    refused = models.PositiveIntegerField()
    total_ms = models.PositiveBigIntegerField()
    slowest_ms = models.PositiveBigIntegerField()

    class Meta:
        ordering = ["run", "name"]
        constraints = [models.UniqueConstraint(fields=["run", "name"], name="one_row_per_tool")]
        indexes = [
            models.Index(
                fields=["name", "run", "calls", "failed", "refused", "total_ms", "slowest_ms"],
                name="tools_counted",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} in {self.run_id}"
