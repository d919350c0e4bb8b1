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

MAX_NAME_LENGTH = 200
"""Of a title, and of a label."""


class ConversationManager(models.Manager["Conversation"]):
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
    title = models.CharField(max_length=MAX_NAME_LENGTH, blank=True)
    head = models.ForeignKey(
        "chat.Exchange", null=True, blank=True, on_delete=models.RESTRICT, related_name="+"
    )
    """What the next question hangs under."""
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)
    """When the last question was asked."""
    deleted_at = models.DateTimeField(null=True, blank=True)

    objects = ConversationManager()
    all_objects = models.Manager["Conversation"]()

    class Meta:
        ordering = ("-updated_at", "id")
        indexes = (models.Index(fields=["user", "-updated_at", "id"], name="newest_of_a_user"),)

    def __str__(self) -> str:
        return str(self.id)  # not its title: lists of the admin show this


class ExchangeManager(models.Manager["Exchange"]):
    """Exchanges that were not pruned."""

    def get_queryset(self) -> models.QuerySet["Exchange"]:
        return super().get_queryset().filter(pruned_at__isnull=True)


class Exchange(models.Model):
    """One question and its answer. Only `chat.conversations.tree.add_exchange` makes them."""

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
    label = models.CharField(max_length=MAX_NAME_LENGTH, blank=True)
    checkpoint = models.BooleanField(default=False)
    """Never pruned."""
    created_at = models.DateTimeField(default=timezone.now)
    pruned_at = models.DateTimeField(null=True, blank=True)

    objects = ExchangeManager()
    all_objects = models.Manager["Exchange"]()

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


class SignInCount(models.Model):
    """Failed sign-ins of a name, of an address, or of both together, in a window of time.

    A table of its own: what others do cannot push a count out (`chat.accounts.login_throttle`).
    """

    key = models.CharField(primary_key=True, max_length=64)
    """A digest with the site's key: neither names nor addresses are kept."""
    count = models.PositiveIntegerField(default=0)
    until = models.DateTimeField(db_index=True)
    """When the window closes, and the row may be pruned."""

    def __str__(self) -> str:
        return self.key


class TrialWrite(models.Model):
    """The one row that is written to learn whether the database takes writes."""

    at = models.DateTimeField()

    def __str__(self) -> str:
        return str(self.at)
