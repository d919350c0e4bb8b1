"""Rename, delete and restore a user's conversations."""

from uuid import UUID

from django.contrib.auth.models import User
from django.utils import timezone

from agents.core.sanitize import replace_unstorable
from agents.models import AgentRun
from agents.projects.queries import projects_for
from chat.conversations.queries import get
from chat.conversations.titles import make_title
from chat.conversations.tree import lock_conversation
from chat.models import MAX_NAME_LENGTH, Conversation


def rename(conversation: Conversation, title: str) -> str:
    """Give a title; an empty one goes back to the first question's."""
    title = " ".join(replace_unstorable(title).split())[:MAX_NAME_LENGTH] or _default_title(
        conversation
    )
    Conversation.objects.filter(pk=conversation.pk).update(title=title)
    return title


def _default_title(conversation: Conversation) -> str:
    first = conversation.exchanges.filter(parent__isnull=True).select_related("run").first()
    return make_title(first.run.question) if first is not None else ""


def delete(conversation: Conversation) -> list[UUID]:
    """Hide a conversation. Its runs that are still going are returned: cancel them."""
    with lock_conversation(conversation.pk) as current:
        Conversation.objects.filter(pk=current.pk).update(deleted_at=timezone.now())
        active = AgentRun.objects.filter(conversation_key=current.pk, outcome__isnull=True)
        return list(active.values_list("pk", flat=True))


def restore(user: User, conversation_id: UUID) -> Conversation:
    """Undo a deletion."""
    reachable = projects_for(user).values("pk")
    deleted = Conversation.all_objects.filter(user=user, pk=conversation_id, project__in=reachable)
    deleted.update(deleted_at=None)
    return get(user, conversation_id)
