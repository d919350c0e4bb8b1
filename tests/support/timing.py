"""How much work something is, on a machine that does other work too."""

import time
from collections.abc import Callable

PATIENCE = 60.0
"""Real seconds after which a test says that something hangs: never a promise about speed."""


def least_cpu_seconds(work: Callable[[], object], *, enough: float = 0.0, tries: int = 6) -> float:
    """Return the least CPU time of several tries; one below `enough` is the last.

    Neighbours, the collector and cold caches add to it and never take away, so the least is the
    nearest to the truth.
    """
    least = float("inf")
    for _ in range(tries):
        began = time.thread_time()
        work()
        least = min(least, time.thread_time() - began)
        if least < enough:
            break
    return least
