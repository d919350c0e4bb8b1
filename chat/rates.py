"""How often somebody may do something: so many at once, then so many a second."""

import time


class Bucket:
    """`take` says whether there is something left."""

    def __init__(self, capacity: float, per_second: float) -> None:
        self._capacity = self._left = capacity
        self._per_second = per_second
        self._at = time.monotonic()

    def take(self) -> bool:
        now = time.monotonic()
        self._left = min(self._capacity, self._left + (now - self._at) * self._per_second)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
