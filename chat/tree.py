"""A conversation's tree in the database: paths, branches, HEAD, labels, checkpoints, pruning.

What is shown or replayed is a bounded stretch of a path, read upwards in one query, so that a long
conversation costs what a short one does. Only what concerns the whole tree reads all of it, and
then no more than ids. Whoever calls has found the rows by `chat.conversations`: it authorises.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.db.models.query import RawQuerySet
from django.utils import timezone

from agents.core.text import storable
from agents.models import AgentRun
from chat.errors import CannotDo, NotYours
from chat.models import LONGEST_NAME, Conversation, Exchange
from chat.shape import Node, Shape
from chat.titles import title_of

PAGE = 30
"""Exchanges that a page shows, and that "load earlier" brings."""
PRUNED = "That exchange was pruned. Undo the pruning, or choose another one."


@dataclass(frozen=True, slots=True)
class Stretch:
    """Exchanges of a path in order, each with its run. `earlier` is the one before the first."""

    exchanges: list[Exchange]
    earlier: UUID | None


@dataclass(frozen=True, slots=True)
class Position:
    """An exchange among its siblings: version `number` of `total`."""

    number: int
    total: int
    previous: UUID | None
    next: UUID | None


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was pruned. `at` undoes it."""

    at: datetime
    exchanges: tuple[UUID, ...]


# -- reading --------------------------------------------------------------------------------------


def stretch(head: UUID | None, most: int = PAGE) -> Stretch:
    """The last exchanges of the path to `head`, with their runs."""
    if head is None:
        return Stretch([], None)
    exchanges = list(_upwards(head, most).prefetch_related("run"))[::-1]
    return Stretch(exchanges, exchanges[0].parent_id if exchanges else None)


def runs_to(head: UUID | None, most: int) -> tuple[UUID, ...]:
    """The newest runs of the path to `head`, oldest first: what a model is told of it."""
    return () if head is None else tuple(e.run_id for e in _upwards(head, most))[::-1]


def _upwards(head: UUID, most: int) -> "RawQuerySet[Exchange]":
    return Exchange.everything.raw(
        """
        WITH RECURSIVE up(id, parent_id, steps) AS (
            SELECT id, parent_id, 1 FROM chat_exchange WHERE id = %s
            UNION ALL
            SELECT e.id, e.parent_id, up.steps + 1
            FROM up JOIN chat_exchange e ON e.id = up.parent_id
            WHERE up.steps < %s
        )
        SELECT e.* FROM up JOIN chat_exchange e ON e.id = up.id ORDER BY up.steps
        """,
        [Exchange._meta.pk.get_db_prep_value(head, connection), most],
    )


def shape(conversation: Conversation) -> Shape:
    """The whole tree, in one narrow query."""
    rows = Exchange.objects.filter(conversation=conversation).order_by("created_at", "id")
    return Shape(
        Node(pk, parent, stays=checkpoint or outcome is None)
        for pk, parent, checkpoint, outcome in rows.values_list(
            "id", "parent_id", "checkpoint", "run__outcome"
        )
    )


def children(exchange: Exchange) -> QuerySet[Exchange]:
    """What was asked after it, oldest first."""
    return _family(exchange.conversation_id, exchange.pk)


def siblings(exchange: Exchange) -> QuerySet[Exchange]:
    """Its versions, itself among them, oldest first."""
    return _family(exchange.conversation_id, exchange.parent_id)


def _family(conversation_id: UUID, parent_id: UUID | None) -> QuerySet[Exchange]:
    return Exchange.objects.filter(conversation_id=conversation_id, parent_id=parent_id)


def positions(exchanges: Iterable[Exchange]) -> dict[UUID, Position]:
    """Where each of these exchanges that is kept stands among its siblings, in one query."""
    shown = list(exchanges)
    families = Q(parent__in={e.parent_id for e in shown if e.parent_id})
    for first in (e for e in shown if e.parent_id is None):
        families |= Q(conversation=first.conversation_id, parent__isnull=True)
    together: dict[tuple[UUID, UUID | None], list[UUID]] = {}
    rows = Exchange.objects.filter(families).order_by("created_at", "id")
    for conversation, parent, pk in rows.values_list("conversation_id", "parent_id", "id"):
        together.setdefault((conversation, parent), []).append(pk)
    places = {pk: place for family in together.values() for pk, place in _places(family)}
    return {e.pk: places[e.pk] for e in shown if e.pk in places}


def _places(family: list[UUID]) -> Iterator[tuple[UUID, Position]]:
    around = zip((None, *family), family, (*family[1:], None), strict=False)
    for number, (previous, pk, following) in enumerate(around, start=1):
        yield pk, Position(number, len(family), previous, following)


# -- changing -------------------------------------------------------------------------------------


@contextmanager
def held(conversation_id: UUID) -> Iterator[Conversation]:
    """The conversation as it is now, and nobody else changes its tree meanwhile."""
    with transaction.atomic():
        found = Conversation.objects.select_for_update().filter(pk=conversation_id).first()
        if found is None:
            raise NotYours("There is no such conversation of yours.")
        yield found


def add(conversation: Conversation, parent_id: UUID | None, run: AgentRun) -> Exchange:
    """Hang a run under an exchange of the same conversation, move HEAD to it, find a title.

    The one place where exchanges are made, for a conversation that is held or new.
    """
    if run.conversation_key != conversation.pk or run.user_id != conversation.user_id:
        raise ValueError(f"run {run.pk} is not of conversation {conversation.pk}")
    if parent_id is not None:
        _kept(conversation, parent_id)
    exchange = Exchange.objects.create(conversation=conversation, parent_id=parent_id, run=run)
    conversation.head = exchange
    conversation.updated_at = exchange.created_at
    conversation.title = conversation.title or title_of(run.question)
    conversation.save(update_fields=["head", "updated_at", "title"])
    return exchange


def checkout(conversation: Conversation, exchange_id: UUID) -> UUID:
    """Move HEAD to an exchange: the next question hangs under it."""
    with held(conversation.pk) as current:
        return _move(current, _kept(current, exchange_id).pk)


def switch(conversation: Conversation, exchange_id: UUID) -> UUID:
    """Move HEAD to where the talk under an exchange went on last, as `< 2/3 >` does."""
    with held(conversation.pk) as current:
        _kept(current, exchange_id)
        return _move(current, shape(current).newest_leaf(exchange_id))


def _kept(conversation: Conversation, exchange_id: UUID) -> Exchange:
    found = Exchange.everything.filter(conversation=conversation, pk=exchange_id).first()
    if found is None:
        raise NotYours("There is no such exchange in this conversation.")
    if found.pruned_at is not None:
        raise CannotDo(PRUNED)
    return found


def _move(conversation: Conversation, exchange_id: UUID) -> UUID:
    conversation.head_id = exchange_id
    conversation.save(update_fields=["head"])
    return exchange_id


def set_label(exchange: Exchange, label: str) -> str:
    """Name an exchange; an empty label takes the name away."""
    label = " ".join(storable(label).split())[:LONGEST_NAME]
    Exchange.objects.filter(pk=exchange.pk).update(label=label)
    return label


def set_checkpoint(exchange: Exchange, checkpoint: bool) -> None:
    """Mark an exchange as one that is never pruned, or take the mark away."""
    with held(exchange.conversation_id) as current:
        _kept(current, exchange.pk)
        Exchange.objects.filter(pk=exchange.pk).update(checkpoint=checkpoint)


# -- pruning --------------------------------------------------------------------------------------


def prunable(conversation: Conversation, below: UUID | None = None) -> list[UUID]:
    """What `prune` would take away: of the whole tree, or an exchange and what is below it."""
    if below is not None:
        _kept(conversation, below)
    return shape(conversation).prunable(conversation.head_id, below)


def prune(conversation: Conversation, below: UUID | None = None) -> Pruned:
    """Hide what is neither first, checkpoint, running, on the path to HEAD, nor above such."""
    with held(conversation.pk) as current:
        pruned = Pruned(timezone.now(), tuple(prunable(current, below)))
        Exchange.objects.filter(pk__in=pruned.exchanges).update(pruned_at=pruned.at)
    return pruned


def undo_prune(conversation: Conversation, at: datetime) -> int:
    """Bring back what was pruned then or later; how many came back.

    Later ones too, because what is above a pruned exchange is never pruned before it: so none
    comes back without what it hangs under.
    """
    with held(conversation.pk) as current:
        pruned = Exchange.everything.filter(conversation=current, pruned_at__gte=at)
        return pruned.update(pruned_at=None)
