"""A project's threads: what was thought and decided, in order. Entries are only ever added.

A thread is the project's, as notes are: whoever wrote an entry may go, the entry stays.
"""

from django.conf import settings
from django.db import models
from django.utils import timezone

from agents.models.projects import Project
from agents.models.runs import AgentRun
from agents.models.vault import NoteVersion

MAX_THREAD_NAME_LENGTH = 120


class Thread(models.Model):
    """A log with a name that never changes, so that what cites it stays true."""

    class Status(models.TextChoices):
        ACTIVE = "active", "Active"
        ARCHIVED = "archived", "Archived"

    project = models.ForeignKey(
        Project,
        on_delete=models.CASCADE,
        related_name="threads",
        db_index=False,  # the unique (project, key) serves
    )
    name = models.CharField(max_length=MAX_THREAD_NAME_LENGTH)
    key = models.CharField(max_length=4 * MAX_THREAD_NAME_LENGTH)
    """The name as people compare names: folded, without regard to case."""
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.ACTIVE)
    entry_count = models.PositiveIntegerField(default=0)
    """The number of the newest entry."""
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["project_id", "-updated_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "key"], name="one_thread_per_name"),
        ]
        indexes = [
            models.Index(fields=["project", "status", "updated_at"], name="threads_by_change"),
        ]

    def __str__(self) -> str:
        return self.name


class ThreadEntry(models.Model):
    """An entry, and who wrote it. It may be withdrawn, which hides its text; it is never edited."""

    class Kind(models.TextChoices):
        THOUGHT = "thought", "Thought"
        DECISION = "decision", "Decision"
        RESEARCH = "research", "Research"
        INSIGHT = "insight", "Insight"

    id = models.BigAutoField(primary_key=True)
    thread = models.ForeignKey(
        Thread,
        on_delete=models.CASCADE,
        related_name="entries",
        db_index=False,  # the unique (thread, number) serves
    )
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=16, choices=Kind.choices)
    text = models.TextField()
    source = models.CharField(max_length=16, choices=NoteVersion.Source.choices)
    """How it came: written by a person, by a run, or imported."""
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="thread_entries",
    )
    """Who wrote it or asked for it; nobody once they are deleted."""
    run = models.ForeignKey(
        AgentRun, on_delete=models.SET_NULL, null=True, blank=True, related_name="thread_entries"
    )
    """That wrote it, or whose answer a person put here."""
    call_id = models.CharField(max_length=200, blank=True, default="")
    """Of the tool call by which a run wrote it."""
    at = models.DateTimeField(default=timezone.now)
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    withdrawn_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="withdrawn_entries",
    )

    class Meta:
        ordering = ["thread_id", "number"]
        constraints = [
            models.UniqueConstraint(fields=["thread", "number"], name="one_entry_per_number"),
        ]

    def __str__(self) -> str:
        return f"{self.thread_id} #{self.number}"
