"""What was rendered, kept for a while: bounded by its size, and made once however many ask."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MAX_AGE_SECONDS = 600.0
"""A process that is not told of an erasure forgets by itself: what is older is rendered again."""


class RenderCache(Generic[K, V]):
    """From any thread. The least recently used goes first."""

    def __init__(self, max_size: int, size: Callable[[V], int]) -> None:
        self._max_size = max_size
        self._size = size
        self._values: OrderedDict[K, tuple[float, V]] = OrderedDict()
        self._total = 0
        self._key_locks: dict[K, Lock] = {}
        self._drop_count = 0
        self._lock = Lock()

    def get_or_create(self, key: K, make: Callable[[], V]) -> V:
        """Return the value, made now if it is not here; who asks meanwhile waits for it."""
        with self._lock:
            making = self._key_locks.setdefault(key, Lock())
        try:
            with making:
                found = self._find(key)
                return found[1] if found is not None else self._make(key, make)
        finally:
            with self._lock:
                self._key_locks.pop(key, None)

    def drop(self, matches: Callable[[K], bool]) -> None:
        """Forget them; also those that are being made."""
        with self._lock:
            self._drop_count += 1
            for key in [key for key in self._values if matches(key)]:
                self._pop(key)

    def _find(self, key: K) -> tuple[float, V] | None:
        with self._lock:
            now = time.monotonic()
            for old in [k for k, (at, _) in self._values.items() if now - at > MAX_AGE_SECONDS]:
                self._pop(old)
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def _make(self, key: K, make: Callable[[], V]) -> V:
        drops = self._drop_count
        value = make()
        with self._lock:
            if key in self._values:
                self._pop(key)
            if drops == self._drop_count:  # else what it was made of may have been erased meanwhile
                self._values[key] = (time.monotonic(), value)
                self._total += self._size(value)
            while self._total > self._max_size:
                self._pop(next(iter(self._values)))
        return value

    def _pop(self, key: K) -> None:
        _, value = self._values.pop(key)
        self._total -= self._size(value)
