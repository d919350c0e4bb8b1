"""Search over a person's conversations: titles, questions and answers, as plain text.

Every word must occur, in any case; what looks like a pattern or an operator is just characters.
"""

import re
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from uuid import UUID

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Q, QuerySet

from agents.core.sanitize import replace_unstorable
from chat.conversations import queries
from chat.models import Conversation, Exchange

MAX_HITS = 20
MAX_WORDS = 8
MAX_QUERY_LENGTH = 200
SNIPPET_CHARS = 80
"""Characters that a snippet shows on each side of what was found."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """`match` is what was found, as it is written there."""

    before: str
    match: str
    after: str


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A conversation, by its title; or one of its exchanges."""

    conversation: Conversation
    exchange: Exchange | None
    snippet: Snippet


def search_conversations(
    user: User, query: str, limit: int = MAX_HITS, project_id: UUID | None = None
) -> list[SearchHit]:
    """Return titles first, then exchanges, each newest first; of one project, or of all."""
    words = replace_unstorable(query[:MAX_QUERY_LENGTH]).split()[:MAX_WORDS]
    if not words:
        return []
    own = queries.for_user(user)
    if project_id is not None:
        own = own.filter(project=project_id)
    hits = _search_titles(own, words, limit)
    return hits + _search_exchanges(user, own, words, limit - len(hits))


def _search_titles(own: QuerySet[Conversation], words: list[str], limit: int) -> list[SearchHit]:
    found = own.filter(_all_words_filter(words, "title"))
    return [SearchHit(c, None, _build_snippet(words, c.title)) for c in found[:limit]]


def _search_exchanges(
    user: User, own: QuerySet[Conversation], words: list[str], limit: int
) -> list[SearchHit]:
    found = (
        Exchange.objects.filter(run__user=user, conversation__in=own)
        .filter(_all_words_filter(words, "run__question", "run__answer"))
        .select_related("conversation", "run")
        .order_by("-created_at", "id")
    )
    return [
        SearchHit(e.conversation, e, _build_snippet(words, e.run.question, e.run.answer))
        for e in found[:limit]
    ]


def _all_words_filter(words: list[str], *fields: str) -> Q:
    """Match each word in one of the fields."""
    return reduce(and_, (_word_filter(word, fields) for word in words))


def _word_filter(word: str, fields: tuple[str, ...]) -> Q:
    return reduce(
        or_,
        (Q(**{f"{field}__icontains": form}) for field in fields for form in _case_variants(word)),
    )


def _case_variants(word: str) -> set[str]:
    """Return every usual form of a word: SQLite ignores the case of ASCII only."""
    if word.isascii() or connection.vendor != "sqlite":
        return {word}
    return {word, word.lower(), word.upper(), word.capitalize()}


def _build_snippet(words: list[str], *texts: str) -> Snippet:
    """Return the first place of the first word that is found, on one line."""
    for word in words:
        for text in texts:
            if match := re.search(re.escape(word), text, re.IGNORECASE):
                start, end = match.span()
                return Snippet(_clip_start(text[:start]), match[0], _clip_end(text[end:]))
    return Snippet("", "", _clip_end(texts[0]))


def _clip_start(text: str) -> str:
    cut = "\u2026" if len(text) > SNIPPET_CHARS else ""
    return cut + re.sub(r"\s+", " ", text[-SNIPPET_CHARS:])


def _clip_end(text: str) -> str:
    cut = "\u2026" if len(text) > SNIPPET_CHARS else ""
    return re.sub(r"\s+", " ", text[:SNIPPET_CHARS]) + cut
