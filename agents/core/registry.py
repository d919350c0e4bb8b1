"""A named collection that refuses duplicates and closes after start-up."""

from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class RegistrationError(Exception):
    """Something was registered twice, or after start-up. The message says what and where."""


class NotRegistered(LookupError):
    """A name that nothing is registered under. The message lists the names that exist."""


class Registry(Generic[T]):
    """Names to things, in order of registration. `kind` is the noun used in error messages."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._entries: dict[str, T] = {}
        self._origins: dict[str, str] = {}
        self._internal: set[str] = set()
        self._closed = False

    def register(self, name: str, entry: T, *, internal: bool = False, origin: object = None) -> T:
        """Add an entry. An internal one is found by its name, but offered to nobody.

        `origin` is what somebody wrote, if that is not the entry itself: messages name it.
        """
        if self._closed:
            raise RegistrationError(
                f"{self.kind} {name!r} is registered too late: register it in a module that is "
                "imported at start-up."
            )
        if name in self._entries:
            first, second = self._origins[name], _describe_origin(origin or entry)
            both = f": by {first} and by {second}" if first != second else ""
            raise RegistrationError(
                f"{self.kind} {name!r} is registered twice{both}. Rename one of them."
            )
        self._entries[name] = entry
        self._origins[name] = _describe_origin(origin or entry)
        if internal:
            self._internal.add(name)
        return entry

    def get(self, name: str) -> T:
        try:
            return self._entries[name]
        except KeyError:
            known = ", ".join(self.names()) or "none"
            raise NotRegistered(f"There is no {self.kind} {name!r}. Known: {known}.") from None

    def names(self) -> tuple[str, ...]:
        """Return what people may choose: everything but the internal entries."""
        return tuple(name for name in self._entries if name not in self._internal)

    def is_internal(self, name: str) -> bool:
        return name in self._internal

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[tuple[str, T]]:
        return iter(self._entries.items())

    def close(self) -> None:
        """Refuse registrations from now on: what a user may choose is settled at start-up."""
        self._closed = True


def _describe_origin(entry: object) -> str:
    module = getattr(entry, "__module__", None)
    name = getattr(entry, "__qualname__", None) or type(entry).__qualname__
    return f"{module}.{name}" if module else name
