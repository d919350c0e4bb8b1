"""Rate limits: a token bucket, a fixed window per person for what is dear, and lanes, in which
one person's work waits for itself.

Bucket and lanes count in this process. The window counts in Django's cache: by default each process
counts for itself, which is enough here.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

from django.contrib.auth.models import User
from django.core.cache import cache

WINDOW_SECONDS = 60
MAX_PER_MINUTE = {"test": 10, "list": 20, "resolve": 30, "check": 120, "try": 20}


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


class Lanes:
    """`async with lanes.enter(key)`: of each key a few are inside at once, the others wait."""

    def __init__(self, max_concurrent: int) -> None:
        self._max_concurrent = max_concurrent
        self._semaphores: dict[Hashable, asyncio.Semaphore] = {}
        self._counts = Counter[Hashable]()

    def __len__(self) -> int:
        """How many keys somebody is inside of, or waits for."""
        return len(self._semaphores)

    @asynccontextmanager
    async def enter(self, key: Hashable) -> AsyncIterator[None]:
        await self.acquire(key)
        try:
            yield
        finally:
            self.release(key)

    async def acquire(self, key: Hashable) -> None:
        """Wait for a place, and take it."""
        lane = self._semaphores.setdefault(key, asyncio.Semaphore(self._max_concurrent))
        self._counts[key] += 1
        try:
            await lane.acquire()
        except BaseException:
            self._leave(key)
            raise

    def release(self, key: Hashable) -> None:
        self._semaphores[key].release()
        self._leave(key)

    def _leave(self, key: Hashable) -> None:
        self._counts[key] -= 1
        if not self._counts[key]:
            del self._counts[key], self._semaphores[key]


class KnownPeople:
    """Whose a session or a token was when it was last used: enough to choose a lane by, and for
    nothing else."""

    def __init__(self, max_size: int = 10_000) -> None:
        self._max_size = max_size
        self._people: dict[str, int] = {}
        """Those seen last at the end."""

    def find(self, key: str, address: str) -> int | str:
        """Return whose lane it is: its person's, or that of its address if nobody is known."""
        return self._people.get(key) or address

    def remember(self, key: str, person: int | None) -> None:
        """Note whose it is; nobody's, if it is no good any more: whoever else has got hold of it
        must not fill its person's lane."""
        self._people.pop(key, None)
        if person is None:
            return
        self._people[key] = person
        if len(self._people) > self._max_size:
            del self._people[next(iter(self._people))]


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
