"""Failed sign-ins, counted: after ten in five minutes a name has to wait at that address.

Counted in Django's cache. The default one lives in the memory of a process, so each process of a
large site counts for itself, and a restart forgets: enough against guessing. Behind a proxy all
addresses are the proxy's; then the count is per name.
"""

import hashlib

from django.core.cache import cache

MOST = 10
WINDOW_SECONDS = 5 * 60


class Attempts:
    """Of one name, from one address. Names that differ in case only are one here."""

    def __init__(self, name: str, address: str) -> None:
        digest = hashlib.sha256(f"{name.strip().casefold()}\0{address}".encode()).hexdigest()
        self._key = f"sign-in:{digest}"

    def begin(self) -> bool:
        """Count one, before it is tried, so that many at once are counted too. May it go on?"""
        cache.add(self._key, 0, WINDOW_SECONDS)
        try:
            return cache.incr(self._key) <= MOST
        except ValueError:  # the window closed just now
            return True

    def forget(self) -> None:
        """It succeeded."""
        cache.delete(self._key)
