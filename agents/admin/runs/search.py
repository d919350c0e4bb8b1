"""Searching runs: by id, also its beginning, by who asked, and by title for those who may read."""

import re
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.apps import apps
from django.contrib.auth.models import User
from django.db.models import Q

from agents.admin.runs.index_hints import is_in
from agents.models import AgentRun

MIN_ID_LENGTH = 4
MAX_MATCHES = 500
"""Of each kind that a search finds: ids, people, conversations."""
MAX_INDEXED_USERS = 5
"""People whose runs are worth being looked up and sorted; those of more are found on the way."""


@dataclass(frozen=True)
class SearchMatch:
    """What a search means, looked up once for all that the page asks."""

    ids: tuple[UUID, ...] = ()
    people: tuple[int, ...] = ()
    conversations: tuple[UUID, ...] = ()

    @property
    def is_truncated(self) -> bool:
        return MAX_MATCHES in (len(self.ids), len(self.people), len(self.conversations))

    def condition(self, *, counting: bool = False) -> Q:
        condition = Q(pk__in=self.ids) | Q(conversation_key__in=self.conversations)
        only_people = not self.ids and not self.conversations
        scanned = only_people and (counting or len(self.people) > MAX_INDEXED_USERS)
        people = is_in("user", list(self.people), counting=scanned)
        return people if only_people and self.people else condition | people


def search(term: str, *, titles: bool) -> SearchMatch | None:
    """Return the matches, or None if nothing is asked for."""
    if not (term := term.strip()):
        return None
    people = User.objects.filter(username__icontains=term).values_list("pk", flat=True)
    return SearchMatch(
        _find_ids(term),
        tuple(people.order_by("pk")[:MAX_MATCHES]),
        _find_conversations(term) if titles else (),
    )


def get_titles(keys: set[UUID]) -> dict[UUID, str]:
    """Return titles of conversations that are not deleted."""
    found = _all_conversations().filter(pk__in=keys).exclude(title="")
    return dict(found.values_list("pk", "title"))


def _find_ids(term: str) -> tuple[UUID, ...]:
    """Return ids between the first and the last one that begin so: a range of the index."""
    digits = re.sub(r"[-{}\s]", "", term).lower()
    if not re.fullmatch(rf"[0-9a-f]{{{MIN_ID_LENGTH},32}}", digits):
        return ()
    first, last = UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))
    runs = AgentRun.objects.filter(pk__gte=first, pk__lte=last).order_by("pk")
    return tuple(runs.values_list("pk", flat=True)[:MAX_MATCHES])


def _find_conversations(term: str) -> tuple[UUID, ...]:
    found = _all_conversations().filter(title__icontains=term).order_by("-updated_at")
    return tuple(found.values_list("pk", flat=True)[:MAX_MATCHES])


def _all_conversations() -> Any:
    """Return the manager, by name: the agents know of no chat."""
    return apps.get_model("chat", "Conversation")._default_manager.all()
