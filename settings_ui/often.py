"""How often somebody may let the server ask elsewhere: so many times a minute.

Counted in Django's cache: by default each process counts for itself, which is enough here.
"""

from django.contrib.auth.models import User
from django.core.cache import cache

SECONDS = 60
MOST = {"test": 10, "list": 20, "resolve": 30}


class TooOften(Exception):
    """The message is for the person."""


def count(user: User, what: str) -> None:
    """Count one, before it is done. TooOften: not now."""
    key = f"often:{what}:{user.pk}"
    cache.add(key, 0, SECONDS)
    try:
        number = cache.incr(key)
    except ValueError:  # the minute ended just now
        return
    if number > MOST[what]:
        raise TooOften(f"That was more than {MOST[what]} times in a minute. Wait a little.")
