from typing import Any

from django.apps import AppConfig


class ChatConfig(AppConfig):
    name = "chat"
    verbose_name = "Chat"

    def ready(self) -> None:
        from agents.models.erasing import erased

        erased.connect(_forget_words)


def _forget_words(runs: list[Any], **_: Any) -> None:
    """Titles and labels are made of what was said."""
    from chat.models import Conversation, Exchange

    Conversation.everything.filter(exchanges__run__in=runs).update(title="")
    Exchange.everything.filter(run__in=runs).update(label="")
