"""A person's conversations: which are theirs, the list, renaming, deleting with undo.

The door to everything in `chat`: rows are found here, for a person, or not at all.
"""

from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from agents.core.text import storable
from agents.models import AgentRun, Membership, Project
from chat.errors import CannotDo, NotYours
from chat.models import LONGEST_NAME, Conversation, Exchange
from chat.titles import title_of
from chat.tree import PRUNED, held


def of(user: User) -> QuerySet[Conversation]:
    """A user's own conversations, in projects that they are a member of."""
    return Conversation.objects.filter(user=user, project__in=_projects(user))


def _projects(user: User) -> QuerySet[Membership, UUID]:
    return Membership.objects.filter(user=user).values_list("project_id", flat=True)


def get(user: User, conversation_id: UUID) -> Conversation:
    found = of(user).select_related("project").filter(pk=conversation_id).first()
    if found is None:
        raise NotYours("There is no such conversation of yours.")
    return found


def get_exchange(user: User, context_id: UUID) -> Exchange:
    """The exchange that an id names: its own, or that of its run."""
    named = Exchange.everything.filter(Q(pk=context_id) | Q(run=context_id))
    found = (
        named.select_related("conversation__project", "run")
        .filter(conversation__in=of(user))
        .first()
    )
    if found is None:
        raise NotYours("There is no such exchange of yours.")
    if found.pruned_at is not None:
        raise CannotDo(PRUNED)
    return found


def get_project(user: User, project_id: UUID) -> Project:
    found = Project.objects.filter(pk=project_id, pk__in=_projects(user)).first()
    if found is None:
        raise NotYours("You are not a member of such a project.")
    return found


def newest(
    user: User, most: int = 50, before: tuple[datetime, UUID] | None = None
) -> QuerySet[Conversation]:
    """The list, newest first, each with whether it is `running`.

    `before` is (updated_at, id) of the last one of the page before.
    """
    active = AgentRun.objects.filter(conversation_key=OuterRef("pk"), outcome__isnull=True)
    found = of(user).annotate(running=Exists(active))
    if before is not None:
        at, pk = before
        found = found.filter(Q(updated_at__lt=at) | Q(updated_at=at, pk__gt=pk))
    return found.order_by("-updated_at", "id")[:most]


def rename(conversation: Conversation, title: str) -> str:
    """Give a title; an empty one goes back to the first question's."""
    title = " ".join(storable(title).split())[:LONGEST_NAME] or _automatic(conversation)
    Conversation.objects.filter(pk=conversation.pk).update(title=title)
    return title


def _automatic(conversation: Conversation) -> str:
    first = conversation.exchanges.filter(parent__isnull=True).select_related("run").first()
    return title_of(first.run.question) if first is not None else ""


def delete(conversation: Conversation) -> list[UUID]:
    """Hide a conversation. Its runs that are still going are returned: cancel them."""
    with held(conversation.pk) as current:
        Conversation.objects.filter(pk=current.pk).update(deleted_at=timezone.now())
        active = AgentRun.objects.filter(conversation_key=current.pk, outcome__isnull=True)
        return list(active.values_list("pk", flat=True))


def restore(user: User, conversation_id: UUID) -> Conversation:
    """Undo a deletion."""
    deleted = Conversation.everything.filter(user=user, pk=conversation_id)
    deleted.update(deleted_at=None)
    return get(user, conversation_id)
