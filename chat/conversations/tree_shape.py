"""The shape of a tree, without its rows: paths, leaves, and what may be pruned.

Trees may be thousands deep, so nothing here recurses.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Node:
    id: UUID
    parent: UUID | None
    is_protected: bool = False
    """Whether it must be kept: a checkpoint, or its run is still going."""


class TreeShape:
    """Nodes by id, oldest first. Every parent is among them."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.nodes = {node.id: node for node in nodes}

    @cached_property
    def children(self) -> dict[UUID | None, list[UUID]]:
        """Oldest first; under None are the first questions."""
        found: dict[UUID | None, list[UUID]] = {}
        for node in self.nodes.values():
            found.setdefault(node.parent, []).append(node.id)
        return found

    def path(self, head: UUID | None) -> list[UUID]:
        """Return the path from the first question to `head`; empty if it is not here (any more)."""
        path = []
        while head in self.nodes:
            path.append(head)
            head = self.nodes[head].parent
        return path[::-1]

    def walk(self, top: UUID | None = None) -> Iterator[tuple[UUID, int]]:
        """Yield each node below `top`, itself included, before its children; and the forks above.

        An only child stands as deep as its parent: a long conversation is not a staircase.
        """
        waiting = [(top, 0)] if top is not None else self._children_with_depth(None, 0)
        while waiting:
            node, depth = waiting.pop()
            yield node, depth
            waiting += self._children_with_depth(node, depth)

    def _children_with_depth(self, node: UUID | None, depth: int) -> list[tuple[UUID, int]]:
        """Return the newest first: the last one in is the next one out."""
        children = self.children.get(node, [])
        return [(child, depth + (len(children) > 1)) for child in reversed(children)]

    def newest_leaf(self, top: UUID) -> UUID:
        """Return where the talk under `top` went on last."""
        below = {node for node, _ in self.walk(top)}
        return next(n for n in reversed(self.nodes) if n in below and n not in self.children)

    def find_prunable(self, head: UUID | None, top: UUID | None = None) -> list[UUID]:
        """Return what may go, of all or below `top`; whatever is above a kept one is kept."""
        kept = set(self.path(head))
        for node in self.nodes.values():
            if node.is_protected or node.parent is None:
                self._keep_ancestors(node.id, kept)
        return [node for node, _ in self.walk(top) if node not in kept]

    def _keep_ancestors(self, node: UUID | None, kept: set[UUID]) -> None:
        while node is not None and node not in kept:
            kept.add(node)
            node = self.nodes[node].parent
