from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.db.models.signals import post_delete


class ChatConfig(AppConfig):
    name = "chat"
    verbose_name = "Chat"

    def ready(self) -> None:
        from agents.audit.erasure import content_erased

        content_erased.connect(_clear_erased_text)
        post_delete.connect(_remove_uploads, sender=settings.AUTH_USER_MODEL)


def _remove_uploads(instance: Any, **_: Any) -> None:
    from functools import partial

    from django.db import transaction

    from chat.library.upload_pieces import remove_uploads

    transaction.on_commit(partial(remove_uploads, instance.pk), robust=True)


def _clear_erased_text(runs: list[Any], **_: Any) -> None:
    """Clear labels, and titles of conversations left empty: they are made of what was said."""
    from django.db import transaction
    from django.db.models import Exists, OuterRef

    from chat.models import Conversation, Exchange
    from chat.rendering import thread

    has_words = Exchange.all_objects.filter(conversation=OuterRef("pk")).exclude(run__question="")
    talks = Conversation.all_objects.filter(exchanges__run__in=runs)
    talks.filter(~Exists(has_words)).update(title="")
    Exchange.all_objects.filter(run__in=runs).update(label="")
    thread.forget_runs(runs)
    transaction.on_commit(lambda: thread.forget_runs(runs))  # until then others may render it again
