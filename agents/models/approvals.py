"""What runs have asked people, and what was decided. What was asked is in the runs' events."""

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.utils import timezone

from agents.models.runs import AgentRun

APPROVAL_LIFETIME = timedelta(days=7)


class ApprovalState(models.TextChoices):
    """What was decided, about all calls or one."""

    OPEN = "", "Open"
    APPROVED = "approved", "Approved"
    REFUSED = "refused", "Refused"
    DIFFERENTLY = "differently", "To be done differently"
    NOT_DECIDED = "not_decided", "Not decided"
    """Something else was asked instead."""


class ApprovalRequest(models.Model):
    """The question with which a run was paused: there is one for each such run."""

    class Way(models.TextChoices):
        PAGE = "page", "On a page"
        API = "api", "By the API"
        TERMINAL = "terminal", "In a terminal"
        QUESTION = "question", "By another question"

    run = models.OneToOneField(
        AgentRun, on_delete=models.PROTECT, primary_key=True, related_name="approval"
    )
    asker = models.CharField(max_length=16)
    digest = models.CharField(max_length=64)
    """Of all that was asked: a decision names what it is about."""
    asked_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    verdict = models.CharField(
        max_length=16, choices=ApprovalState.choices, blank=True, default=ApprovalState.OPEN
    )
    words = models.TextField(blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    decided_via = models.CharField(max_length=16, choices=Way.choices, blank=True)
    continuation = models.OneToOneField(
        AgentRun, on_delete=models.PROTECT, null=True, related_name="resumed_approval"
    )
    """The one run that does what was decided."""

    class Meta:
        ordering = ["-asked_at", "pk"]

    def __str__(self) -> str:
        return f"{self.run_id} {self.verdict or 'open'}"

    @property
    def is_open(self) -> bool:
        return self.verdict == ApprovalState.OPEN

    @property
    def is_expired(self) -> bool:
        return self.is_open and self.expires_at <= timezone.now()


class ApprovalCall(models.Model):
    """One call that waits, or has waited."""

    approval = models.ForeignKey(
        ApprovalRequest,
        on_delete=models.CASCADE,
        related_name="calls",
        db_index=False,  # the unique (approval, order) serves
    )
    order = models.PositiveIntegerField()
    call_id = models.TextField()
    name = models.CharField(max_length=200)
    digest = models.CharField(max_length=64)
    """Of its name and arguments."""
    note_version = models.PositiveIntegerField(null=True)
    """The key of the stored version of the note that it changes, as it was when the run asked; 0:
    there was none."""
    verdict = models.CharField(
        max_length=16, choices=ApprovalState.choices, blank=True, default=ApprovalState.OPEN
    )
    words = models.TextField(blank=True)

    class Meta:
        ordering = ["approval", "order"]
        constraints = [
            models.UniqueConstraint(
                fields=["approval", "order"], name="one_call_per_place_of_an_approval"
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.approval_id}"
