"""Names that belong to a function: where they are used, nothing outside is meant."""

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple


class Span(NamedTuple):
    start: int
    end: int


class LocalNames:
    """Scopes within scopes, and the names that each has of its own."""

    def __init__(self, scopes: Iterable[Span], names: Iterable[tuple[int, bytes]]) -> None:
        self._scopes = sorted(set(scopes), key=lambda scope: (scope.start, -scope.end))
        self._starts = [scope.start for scope in self._scopes]
        self._parents = self._find_parents()
        self._names: list[set[bytes]] = [set() for _ in self._scopes]
        self._all_names: set[bytes] = set()
        for place, name in names:
            self._all_names.add(name)
            inner = self._find(place)
            if inner >= 0:
                self._names[inner].add(name)

    def has(self, place: int, name: bytes) -> bool:
        """Return whether a name at a place belongs to a scope around it."""
        if name not in self._all_names:
            return False
        scope = self._find(place)
        while scope >= 0:
            if name in self._names[scope]:
                return True
            scope = self._parents[scope]
        return False

    def find_scope_start(self, place: int) -> int:
        """Return where the innermost scope around a place begins, -1 if there is none.

        What is itself a scope is not within it.
        """
        scope = self._find(place)
        while scope >= 0 and self._scopes[scope].start == place:
            scope = self._parents[scope]
        return self._starts[scope] if scope >= 0 else -1

    def _find_parents(self) -> list[int]:
        parents: list[int] = []
        around: list[int] = []
        for number, scope in enumerate(self._scopes):
            while around and self._scopes[around[-1]].end <= scope.start:
                around.pop()
            parents.append(around[-1] if around else -1)
            around.append(number)
        return parents

    def _find(self, place: int) -> int:
        """Return the innermost scope around a place, -1 if there is none."""
        scope = bisect_right(self._starts, place) - 1
        while scope >= 0 and self._scopes[scope].end <= place:
            scope = self._parents[scope]
        return scope
