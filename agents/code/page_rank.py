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
    total = sum(starts.values())
    begin = {item: weight / total for item, weight in starts.items()}
    shares = {
        item: [
            (other, DAMPING * weight / sum(targets.values())) for other, weight in targets.items()
        ]
        for item, targets in edges.items()
        if targets
    }
    ranks = dict(begin)
    for _ in range(ROUNDS):
        following: dict[Item, float] = {}
        moved = 0.0
        for item, rank in ranks.items():
            for other, share in shares.get(item, ()):
                following[other] = following.get(other, 0.0) + rank * share
            if item in shares:
                moved += rank * DAMPING
        rest = sum(ranks.values()) - moved
        for item, weight in begin.items():
            following[item] = following.get(item, 0.0) + rest * weight
        ranks = following
    return ranks


def _share_out(targets: Mapping[Item, float]) -> list[tuple[Item, float]]:
    total = sum(targets.values())
    return [(item, DAMPING * weight / total) for item, weight in targets.items()]
