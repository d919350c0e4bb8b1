"""Find what of the signed-in person's a page is about."""

from uuid import UUID

from django.http import Http404, HttpRequest

from agents.web.requests import get_user
from chat.conversations import queries
from chat.errors import ChatError
from chat.models import Conversation


def get_conversation_or_404(request: HttpRequest, conversation_id: UUID) -> Conversation:
    """Return their conversation, or a page that says there is none."""
    try:
        return queries.get(get_user(request), conversation_id)
    except ChatError as error:
        raise Http404(str(error)) from None
