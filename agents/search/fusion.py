"""Several lists of hits as one: what stands near the top of many lists comes first.

The lists may come from several phrasings of a question, or from several ways to look for one.
"""

from collections.abc import Hashable, Sequence
from typing import TypeVar

RANK_OFFSET = 10
"""The smaller it is, the more the first places of a list count."""

Item = TypeVar("Item", bound=Hashable)


def fuse(lists: Sequence[Sequence[Item]]) -> list[Item]:
    """Return the items of all lists by the sum of their reciprocal ranks, best first.

    Of equal ones, the one that is met first in the lists comes first.
    """
    scores: dict[Item, float] = {}
    for items in lists:
        for rank, item in enumerate(items, 1):
            scores[item] = scores.get(item, 0.0) + 1 / (RANK_OFFSET + rank)
    return sorted(scores, key=lambda item: -scores[item])
