"""The whole tree as a nested list, for the panel beside the conversation."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models.functions import Left

from chat.conversations.titles import make_title
from chat.conversations.tree_shape import Node, TreeShape
from chat.models import Conversation, Exchange

_TITLE_SOURCE_CHARS = 300


@dataclass(frozen=True, slots=True)
class OutlineItem:
    """One exchange. `depth` counts the forks above it; `number` of `total` are its versions."""

    id: UUID
    depth: int
    name: str
    """Its label, or its question in short."""
    number: int
    total: int
    checkpoint: bool
    outcome: str | None
    """None while its run is going."""
    is_on_path: bool
    is_head: bool


def build_outline(conversation: Conversation) -> list[OutlineItem]:
    """Return every exchange before those that hang under it, in one query."""
    rows = {
        pk: (parent, label, checkpoint, outcome, question)
        for pk, parent, label, checkpoint, outcome, question in Exchange.objects.filter(
            conversation=conversation
        )
        .order_by("created_at", "id")
        .values_list(
            "id",
            "parent_id",
            "label",
            "checkpoint",
            "run__outcome",
            Left("run__question", _TITLE_SOURCE_CHARS),
        )
    }
    shape = TreeShape(Node(pk, row[0]) for pk, row in rows.items())
    on_path = set(shape.path(conversation.head_id))
    items = []
    for pk, depth in shape.walk():
        parent, label, checkpoint, outcome, question = rows[pk]
        family = shape.children[parent]
        items.append(
            OutlineItem(
                id=pk,
                depth=depth,
                name=label or make_title(question),
                number=family.index(pk) + 1,
                total=len(family),
                checkpoint=checkpoint,
                outcome=outcome,
                is_on_path=pk in on_path,
                is_head=pk == conversation.head_id,
            )
        )
    return items
