from typing import Any

from django.apps import AppConfig


class ChatConfig(AppConfig):
    name = "chat"
    verbose_name = "Chat"

    def ready(self) -> None:
        from agents.models.erasing import erased

        erased.connect(_forget_words)


def _forget_words(runs: list[Any], **_: Any) -> None:
    """Labels, and titles of conversations in which nothing is left, are made of what was said."""
    from django.db.models import Exists, OuterRef

    from chat.models import Conversation, Exchange

    has_words = Exchange.everything.filter(conversation=OuterRef("pk")).exclude(run__question="")
    talks = Conversation.everything.filter(exchanges__run__in=runs)
    talks.filter(~Exists(has_words)).update(title="")
    Exchange.everything.filter(run__in=runs).update(label="")
