"""Rate limits: a token bucket, and a fixed window per person for what is dear.

The bucket counts in this process. The window counts in Django's cache: by default each process
counts for itself, which is enough here.
"""

import time

from django.contrib.auth.models import User
from django.core.cache import cache

WINDOW_SECONDS = 60
MAX_PER_MINUTE = {"test": 10, "list": 20, "resolve": 30, "try": 20}


class TokenBucket:
    """`try_acquire` says whether there is something left."""

    def __init__(self, capacity: float, per_second: float) -> None:
        self._capacity = self._remaining = capacity
        self._per_second = per_second
        self._refilled_at = time.monotonic()

    def try_acquire(self, amount: float = 1) -> bool:
        self._refill()
        if self._remaining < amount:
            return False
        self._remaining -= amount
        return True

    def spend(self, amount: float) -> None:
        """Take so many, also if there are not as many: what is owed has to be refilled first."""
        self._refill()
        self._remaining -= amount

    @property
    def remaining(self) -> int:
        """How many can be taken now."""
        self._refill()
        return int(self._remaining)

    @property
    def wait_seconds(self) -> float:
        """Until the next one can be taken."""
        self._refill()
        return max(0.0, (1 - self._remaining) / self._per_second)

    @property
    def seconds_until_full(self) -> float:
        """Until all can be taken again."""
        self._refill()
        return (self._capacity - self._remaining) / self._per_second

    def _refill(self) -> None:
        now = time.monotonic()
        self._remaining = min(
            self._capacity, self._remaining + (now - self._refilled_at) * self._per_second
        )
        self._refilled_at = now


class Throttled(Exception):
    """The message is for the person."""


def check_rate(user: User, what: str) -> None:
    """Count one, before it is done. Throttled: not now."""
    key = f"often:{what}:{user.pk}"
    cache.add(key, 0, WINDOW_SECONDS)
    try:
        number = cache.incr(key)
    except ValueError:  # the minute ended just now
        return
    if number > (most := MAX_PER_MINUTE[what]):
        raise Throttled(f"That was more than {most} times in a minute. Wait a little.")
