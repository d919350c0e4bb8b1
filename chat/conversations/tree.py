"""A conversation's tree in the database: paths, branches, HEAD, labels, checkpoints, pruning.

What is shown or replayed is a bounded stretch of a path, read upwards in one query, so that a long
conversation costs what a short one does. Only what concerns the whole tree reads all of it, and
then no more than ids. Callers have found the rows through `queries`, which authorises.
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

from agents.core.sanitize import replace_unstorable
from agents.models import AgentRun
from chat.conversations.titles import make_title
from chat.conversations.tree_shape import Node, TreeShape
from chat.errors import InvalidAction, NotFoundForUser
from chat.models import MAX_NAME_LENGTH, Conversation, Exchange

PAGE_SIZE = 30
"""Exchanges that a page shows, and that "load earlier" brings."""
PRUNED_MESSAGE = "That exchange was pruned. Undo the pruning, or choose another one."


@dataclass(frozen=True, slots=True)
class PathSegment:
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
class PruneResult:
    """What was pruned. `at` undoes it."""

    at: datetime
    exchanges: tuple[UUID, ...]


# -- reading --------------------------------------------------------------------------------------


def get_path_segment(head: UUID | None, limit: int = PAGE_SIZE) -> PathSegment:
    """Return the last exchanges of the path to `head`, with their runs."""
    if head is None:
        return PathSegment([], None)
    exchanges = list(_walk_up(head, limit).prefetch_related("run"))[::-1]
    return PathSegment(exchanges, exchanges[0].parent_id if exchanges else None)


def run_ids_on_path(head: UUID | None, limit: int) -> tuple[UUID, ...]:
    """Return the newest runs of the path to `head`, oldest first: what a model is told of it."""
    return () if head is None else tuple(e.run_id for e in _walk_up(head, limit))[::-1]


def _walk_up(head: UUID, limit: int) -> "RawQuerySet[Exchange]":
    return Exchange.all_objects.raw(
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
        [Exchange._meta.pk.get_db_prep_value(head, connection), limit],
    )


def load_shape(conversation: Conversation) -> TreeShape:
    """Return the whole tree, in one narrow query."""
    rows = Exchange.objects.filter(conversation=conversation).order_by("created_at", "id")
    return TreeShape(
        Node(pk, parent, is_protected=checkpoint or outcome is None)
        for pk, parent, checkpoint, outcome in rows.values_list(
            "id", "parent_id", "checkpoint", "run__outcome"
        )
    )


def children(exchange: Exchange) -> QuerySet[Exchange]:
    """Return what was asked after it, oldest first."""
    return _get_children(exchange.conversation_id, exchange.pk)


def siblings(exchange: Exchange) -> QuerySet[Exchange]:
    """Return its versions, itself among them, oldest first."""
    return _get_children(exchange.conversation_id, exchange.parent_id)


def _get_children(conversation_id: UUID, parent_id: UUID | None) -> QuerySet[Exchange]:
    return Exchange.objects.filter(conversation_id=conversation_id, parent_id=parent_id)


def get_positions(exchanges: Iterable[Exchange]) -> dict[UUID, Position]:
    """Return where each of these exchanges that is kept stands among its siblings, in one query."""
    shown = list(exchanges)
    families = Q(parent__in={e.parent_id for e in shown if e.parent_id})
    for first in (e for e in shown if e.parent_id is None):
        families |= Q(conversation=first.conversation_id, parent__isnull=True)
    together: dict[tuple[UUID, UUID | None], list[UUID]] = {}
    rows = Exchange.objects.filter(families).order_by("created_at", "id")
    for conversation, parent, pk in rows.values_list("conversation_id", "parent_id", "id"):
        together.setdefault((conversation, parent), []).append(pk)
    places = {pk: place for family in together.values() for pk, place in _iter_positions(family)}
    return {e.pk: places[e.pk] for e in shown if e.pk in places}


def _iter_positions(family: list[UUID]) -> Iterator[tuple[UUID, Position]]:
    around = zip((None, *family), family, (*family[1:], None), strict=False)
    for number, (previous, pk, following) in enumerate(around, start=1):
        yield pk, Position(number, len(family), previous, following)


# -- changing -------------------------------------------------------------------------------------


@contextmanager
def lock_conversation(conversation_id: UUID) -> Iterator[Conversation]:
    """Yield the conversation as it is now; nobody else changes its tree meanwhile."""
    with transaction.atomic():
        found = Conversation.objects.select_for_update().filter(pk=conversation_id).first()
        if found is None:
            raise NotFoundForUser("You have no such conversation.")
        yield found


def add_exchange(conversation: Conversation, parent_id: UUID | None, run: AgentRun) -> Exchange:
    """Hang a run under an exchange of the same conversation, move HEAD to it, find a title.

    The one place where exchanges are made, for a conversation that is held or new.
    """
    if run.conversation_key != conversation.pk or run.user_id != conversation.user_id:
        raise ValueError(f"run {run.pk} is not of conversation {conversation.pk}")
    if parent_id is not None:
        _get_unpruned(conversation, parent_id)
    exchange = Exchange.objects.create(conversation=conversation, parent_id=parent_id, run=run)
    conversation.head = exchange
    conversation.updated_at = exchange.created_at
    conversation.title = conversation.title or make_title(run.question)
    conversation.save(update_fields=["head", "updated_at", "title"])
    return exchange


def checkout(conversation: Conversation, exchange_id: UUID) -> UUID:
    """Move HEAD to an exchange: the next question hangs under it."""
    with lock_conversation(conversation.pk) as current:
        return _move_head(current, _get_unpruned(current, exchange_id).pk)


def switch(conversation: Conversation, exchange_id: UUID) -> UUID:
    """Move HEAD to where the talk under an exchange went on last, as `< 2/3 >` does."""
    with lock_conversation(conversation.pk) as current:
        _get_unpruned(current, exchange_id)
        return _move_head(current, load_shape(current).newest_leaf(exchange_id))


def _get_unpruned(conversation: Conversation, exchange_id: UUID) -> Exchange:
    found = Exchange.all_objects.filter(conversation=conversation, pk=exchange_id).first()
    if found is None:
        raise NotFoundForUser("There is no such exchange in this conversation.")
    if found.pruned_at is not None:
        raise InvalidAction(PRUNED_MESSAGE)
    return found


def _move_head(conversation: Conversation, exchange_id: UUID) -> UUID:
    conversation.head_id = exchange_id
    conversation.save(update_fields=["head"])
    return exchange_id


def set_label(exchange: Exchange, label: str) -> str:
    """Name an exchange; an empty label takes the name away."""
    label = " ".join(replace_unstorable(label).split())[:MAX_NAME_LENGTH]
    Exchange.objects.filter(pk=exchange.pk).update(label=label)
    return label


def set_checkpoint(exchange: Exchange, checkpoint: bool) -> None:
    """Mark an exchange as one that is never pruned, or take the mark away."""
    with lock_conversation(exchange.conversation_id) as current:
        _get_unpruned(current, exchange.pk)
        Exchange.objects.filter(pk=exchange.pk).update(checkpoint=checkpoint)


# -- pruning --------------------------------------------------------------------------------------


def find_prunable(conversation: Conversation, below: UUID | None = None) -> list[UUID]:
    """Return what `prune` would remove: of the whole tree, or an exchange and all below it."""
    if below is not None:
        _get_unpruned(conversation, below)
    return load_shape(conversation).find_prunable(conversation.head_id, below)


def prune(conversation: Conversation, below: UUID | None = None) -> PruneResult:
    """Hide what is neither first, checkpoint, running, on the path to HEAD, nor above such."""
    with lock_conversation(conversation.pk) as current:
        pruned = PruneResult(timezone.now(), tuple(find_prunable(current, below)))
        Exchange.objects.filter(pk__in=pruned.exchanges).update(pruned_at=pruned.at)
    return pruned


def undo_prune(conversation: Conversation, at: datetime) -> int:
    """Bring back what was pruned then or later; how many came back.

    Later ones too, because what is above a pruned exchange is never pruned before it: so none
    comes back without what it hangs under.
    """
    with lock_conversation(conversation.pk) as current:
        pruned = Exchange.all_objects.filter(conversation=current, pruned_at__gte=at)
        return pruned.update(pruned_at=None)
