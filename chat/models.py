"""Conversations are trees of exchanges. Question and answer live on the exchange's run.

Nothing is overwritten and nothing is deleted automatically: a conversation that was deleted and an
exchange that was pruned are hidden by `objects`, and come back when that is undone.
"""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from agents.models import AgentRun, Project

LONGEST_NAME = 200
"""Of a title, and of a label."""


class Kept(models.Manager["Conversation"]):
    """Conversations that were not deleted."""

    def get_queryset(self) -> models.QuerySet["Conversation"]:
        return super().get_queryset().filter(deleted_at__isnull=True)


class Conversation(models.Model):
    """Somebody's questions in a project. Its id is the `conversation_key` of its runs."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        related_name="conversations",
        db_index=False,  # the list's index begins with it
    )
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="conversations")
    title = models.CharField(max_length=LONGEST_NAME, blank=True)
    head = models.ForeignKey(
        "chat.Exchange", null=True, blank=True, on_delete=models.RESTRICT, related_name="+"
    )
    """What the next question hangs under."""
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)
    """When the last question was asked."""
    deleted_at = models.DateTimeField(null=True, blank=True)

    objects = Kept()
    everything = models.Manager["Conversation"]()

    class Meta:
        ordering = ("-updated_at", "id")
        indexes = (models.Index(fields=["user", "-updated_at", "id"], name="newest_of_a_user"),)

    def __str__(self) -> str:
        return str(self.id)  # not its title: lists of the admin show this


class KeptExchanges(models.Manager["Exchange"]):
    """Exchanges that were not pruned."""

    def get_queryset(self) -> models.QuerySet["Exchange"]:
        return super().get_queryset().filter(pruned_at__isnull=True)


class Exchange(models.Model):
    """One question and its answer. `chat.tree.add` makes them, and nothing else does."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(
        Conversation,
        on_delete=models.CASCADE,
        related_name="exchanges",
        db_index=False,  # the tree's index begins with it
    )
    parent = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.RESTRICT, related_name="children"
    )
    """The exchange before it, of the same conversation. The first ones have none."""
    run = models.OneToOneField(AgentRun, on_delete=models.RESTRICT, related_name="exchange")
    label = models.CharField(max_length=LONGEST_NAME, blank=True)
    checkpoint = models.BooleanField(default=False)
    """Never pruned."""
    created_at = models.DateTimeField(default=timezone.now)
    pruned_at = models.DateTimeField(null=True, blank=True)

    objects = KeptExchanges()
    everything = models.Manager["Exchange"]()

    class Meta:
        ordering = ("created_at", "id")
        indexes = (
            models.Index(
                fields=["conversation", "parent", "created_at", "id"], name="tree_of_a_conversation"
            ),
        )
        constraints = (
            models.CheckConstraint(
                condition=Q(pruned_at__isnull=True) | Q(parent__isnull=False, checkpoint=False),
                name="first_ones_and_checkpoints_are_kept",
            ),
            models.CheckConstraint(
                condition=Q(parent__isnull=True) | ~Q(parent=F("id")),
                name="no_exchange_is_its_own_parent",
            ),
        )

    def __str__(self) -> str:
        return str(self.id)
