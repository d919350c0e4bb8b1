"""Which alarm is raised, if any."""

from collections.abc import Sequence
from itertools import pairwise

from .levels import Site

NEAR_EDGE = 0.30
MAX_JUMP = 0.50
"""More from one reading to the next is a boat under the radar."""
AGREEING = 3


def choose_alarm(site: Site, level: float, in_three_hours: float, in_six_hours: float) -> str:
    """Return red, orange, yellow or nothing, from the level now and what is expected."""
    if level > site.quay_edge:
        return "red"
    if in_three_hours > site.quay_edge:
        return "orange"
    return "yellow" if in_six_hours > site.quay_edge - NEAR_EDGE else ""


def can_trust(levels: Sequence[float]) -> bool:
    """Return whether the last level counts: after a jump up, only once three in a row agree."""
    pairs = pairwise(levels[-AGREEING:])
    return all(later - earlier <= MAX_JUMP for earlier, later in pairs)
