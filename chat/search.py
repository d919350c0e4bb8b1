"""Search over a person's conversations: titles, questions and answers, as plain text.

Every word must occur, in any case; what looks like a pattern or an operator is just characters.
"""

import re
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Q

from agents.core.text import storable
from chat import conversations
from chat.models import Conversation, Exchange

MOST_HITS = 20
MOST_WORDS = 8
LONGEST_QUERY = 200
AROUND = 80
"""Characters that a snippet shows on each side of what was found."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """`match` is what was found, as it is written there."""

    before: str
    match: str
    after: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A conversation, by its title; or one of its exchanges."""

    conversation: Conversation
    exchange: Exchange | None
    snippet: Snippet


def search(user: User, query: str, most: int = MOST_HITS) -> list[Hit]:
    """Titles first, then exchanges, each newest first."""
    words = storable(query[:LONGEST_QUERY]).split()[:MOST_WORDS]
    if not words:
        return []
    hits = _in_titles(user, words, most)
    return hits + _in_exchanges(user, words, most - len(hits))


def _in_titles(user: User, words: list[str], most: int) -> list[Hit]:
    found = conversations.of(user).filter(_all(words, "title"))
    return [Hit(c, None, _snippet(words, c.title)) for c in found[:most]]


def _in_exchanges(user: User, words: list[str], most: int) -> list[Hit]:
    found = (
        Exchange.objects.filter(run__user=user, conversation__in=conversations.of(user))
        .filter(_all(words, "run__question", "run__answer"))
        .select_related("conversation", "run")
        .order_by("-created_at", "id")
    )
    return [
        Hit(e.conversation, e, _snippet(words, e.run.question, e.run.answer)) for e in found[:most]
    ]


def _all(words: list[str], *fields: str) -> Q:
    """Each word in one of the fields."""
    return reduce(and_, (_anywhere(word, fields) for word in words))


def _anywhere(word: str, fields: tuple[str, ...]) -> Q:
    return reduce(
        or_, (Q(**{f"{field}__icontains": form}) for field in fields for form in _forms(word))
    )


def _forms(word: str) -> set[str]:
    """SQLite ignores the case of ASCII only: other words are looked for in every usual form."""
    if word.isascii() or connection.vendor != "sqlite":
        return {word}
    return {word, word.lower(), word.upper(), word.capitalize()}


def _snippet(words: list[str], *texts: str) -> Snippet:
    """The first place of the first word that is found, on one line."""
    for word in words:
        for text in texts:
            if match := re.search(re.escape(word), text, re.IGNORECASE):
                start, end = match.span()
                return Snippet(_tail(text[:start]), match[0], _head(text[end:]))
    return Snippet("", "", _head(texts[0]))


def _tail(text: str) -> str:
    cut = "\u2026" if len(text) > AROUND else ""
    return cut + re.sub(r"\s+", " ", text[-AROUND:])


def _head(text: str) -> str:
    cut = "\u2026" if len(text) > AROUND else ""
    return re.sub(r"\s+", " ", text[:AROUND]) + cut
