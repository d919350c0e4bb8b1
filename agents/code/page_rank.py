"""PageRank over a small graph. No I/O."""

from collections.abc import Hashable, Mapping
from typing import TypeVar

DAMPING = 0.85
ROUNDS = 40

Item = TypeVar("Item", bound=Hashable)


def compute_ranks(
    edges: Mapping[Item, Mapping[Item, float]], starts: Mapping[Item, float]
) -> dict[Item, float]:
    """Return how often somebody is at each place who follows edges by their weights.

    They begin anew now and then, and wherever no edge leads on: at one of `starts`, by its weight.
    """
    reached = {other for targets in edges.values() for other in targets}
    shares = {item: DAMPING / sum(each.values()) for item, each in edges.items() if each}
    total = sum(starts.values())
    begin = {item: weight / total for item, weight in starts.items()}
    outside = {item: weight for item, weight in begin.items() if item not in reached}
    entry = _follow(outside, edges, shares)
    inside = {item: weight for item, weight in begin.items() if item in reached}
    first, ranks = 1.0, inside
    for _ in range(ROUNDS):
        # Nobody comes back to a place outside, so all of them take one step together.
        following = {item: first * rank for item, rank in entry.items()}
        for item, rank in _follow(ranks, edges, shares).items():
            following[item] = following.get(item, 0.0) + rank
        first = 1 - sum(following.values())
        for item, weight in inside.items():
            following[item] = following.get(item, 0.0) + first * weight
        ranks = following
    return ranks | {item: first * weight for item, weight in outside.items()}


def _follow(
    ranks: Mapping[Item, float],
    edges: Mapping[Item, Mapping[Item, float]],
    shares: Mapping[Item, float],
) -> dict[Item, float]:
    """Return where everybody is after a step along the edges; `shares` is for a weight of one."""
    following: dict[Item, float] = {}
    for item, rank in ranks.items():
        if item in shares:
            step = rank * shares[item]
            for other, weight in edges[item].items():
                following[other] = following.get(other, 0.0) + step * weight
    return following
