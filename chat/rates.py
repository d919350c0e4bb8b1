"""How often somebody may do something: so many at once, then so many a second."""

import time


class Bucket:
    """`take` says whether there is something left."""

    def __init__(self, capacity: float, per_second: float) -> None:
        self._capacity = self._left = capacity
        self._per_second = per_second
        self._at = time.monotonic()

    def take(self) -> bool:
        self._refill()
        if self._left < 1:
            return False
        self._left -= 1
        return True

    @property
    def left(self) -> int:
        """How many can be taken now."""
        self._refill()
        return int(self._left)

    @property
    def wait_seconds(self) -> float:
        """Until the next one can be taken."""
        self._refill()
        return max(0.0, (1 - self._left) / self._per_second)

    @property
    def full_seconds(self) -> float:
        """Until all can be taken again."""
        self._refill()
        return (self._capacity - self._left) / self._per_second

    def _refill(self) -> None:
        now = time.monotonic()
        self._left = min(self._capacity, self._left + (now - self._at) * self._per_second)
        self._at = now
