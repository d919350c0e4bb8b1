"""A person's conversations: which are theirs, the list, renaming, deleting with undo.

The door to everything in `chat`: rows are found here, for a person, or not at all.
"""

from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet

from agents.models import AgentRun, Project
from agents.projects import queries as access
from agents.projects.errors import ProjectError
from chat.conversations.tree import PRUNED_MESSAGE
from chat.errors import InvalidAction, NotFoundForUser
from chat.models import Conversation, Exchange

CLOSED_PROJECT_MESSAGE = (
    "You are no longer in the project of this conversation, or it was deleted. The conversation is "
    "kept: it comes back when an owner of the project lets you in again, or restores it."
)


def for_user(user: User) -> QuerySet[Conversation]:
    """Return a user's own conversations, in projects that they are a member of."""
    return Conversation.objects.filter(
        user=user, project__in=access.projects_for(user).values("pk")
    )


def get(user: User, conversation_id: UUID) -> Conversation:
    found = for_user(user).select_related("project").filter(pk=conversation_id).first()
    if found is None:
        raise _build_not_found(user, conversation_id)
    return found


def _build_not_found(user: User, conversation_id: UUID) -> NotFoundForUser:
    """Return what somebody is told; of their own conversations, which they know of, why."""
    is_own = Conversation.objects.filter(pk=conversation_id, user=user).exists()
    message = CLOSED_PROJECT_MESSAGE if is_own else "You have no such conversation."
    return NotFoundForUser(message)


def get_exchange(user: User, context_id: UUID, *, conversation_id: UUID | None = None) -> Exchange:
    """Return the exchange that an id names: its own, or that of its run. It may have to be in this
    one."""
    named = Exchange.all_objects.filter(Q(pk=context_id) | Q(run=context_id))
    found = (
        named.select_related("conversation__project", "run")
        .filter(conversation__in=for_user(user))
        .first()
    )
    if found is None and conversation_id is not None:
        get(user, conversation_id)  # which may not be theirs any more
    if found is None:
        raise NotFoundForUser("You have no such exchange.")
    if conversation_id not in (None, found.conversation_id):
        raise NotFoundForUser("That exchange is not in this conversation.")
    if found.pruned_at is not None:
        raise InvalidAction(PRUNED_MESSAGE)
    return found


def get_project(user: User, project_id: UUID) -> Project:
    try:
        return access.get_project(user, project_id)
    except ProjectError as error:
        raise NotFoundForUser(str(error)) from None


def get_project_id(user: User, conversation_id: UUID, new_in: UUID) -> UUID:
    """Return the project of a conversation of theirs; of one yet to begin, the one it begins in."""
    if Conversation.all_objects.filter(pk=conversation_id).exists():
        return get(user, conversation_id).project_id
    return get_project(user, new_in).pk


def list_recent(
    user: User,
    limit: int = 50,
    before: tuple[datetime, UUID] | None = None,
    project_id: UUID | None = None,
) -> QuerySet[Conversation]:
    """Return the list, newest first, each with whether it is `running`; of one project, or of all.

    `before` is (updated_at, id) of the last one of the page before.
    """
    active = AgentRun.objects.filter(conversation_key=OuterRef("pk"), outcome__isnull=True)
    found = for_user(user).annotate(running=Exists(active))
    if project_id is not None:
        found = found.filter(project=project_id)
    if before is not None:
        at, pk = before
        found = found.filter(Q(updated_at__lt=at) | Q(updated_at=at, pk__gt=pk))
    return found.order_by("-updated_at", "id")[:limit]
