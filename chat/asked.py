"""Who asks for a page, and what of theirs it is about."""

from typing import cast
from uuid import UUID

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest

from chat import conversations
from chat.errors import ChatError
from chat.models import Conversation


def user_of(request: HttpRequest) -> User:
    """For views that only those who have signed in can reach."""
    return cast(User, request.user)


def conversation_of(request: HttpRequest, conversation_id: UUID) -> Conversation:
    """Their conversation, or a page that says there is none."""
    try:
        return conversations.get(user_of(request), conversation_id)
    except ChatError as error:
        raise Http404(str(error)) from None
