"""How often a token may be used. Each process counts for itself, and a restart forgets."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from math import ceil

from django.conf import settings

from agents.web.throttling import TokenBucket
from chat.api.errors import api_error


class Rate(StrEnum):
    """What is counted apart."""

    ASK = "ask"
    READ = "read"
    CHANGE = "change"


PER_MINUTE = {Rate.ASK: 20, Rate.READ: 240, Rate.CHANGE: 60}
"""So many at once, and so many a minute after that. API_PER_MINUTE of the settings says others."""
MAX_STREAMS = 200
"""Streams that one person may have open in one process."""
MAX_BUCKETS = 5_000

_buckets: dict[tuple[int, Rate], TokenBucket] = {}
_streams: Counter[int] = Counter()


def check_rate_limit(token_id: int, rate: Rate) -> dict[str, str]:
    """Count one request; the headers that tell how many are left. ApiError if there are none."""
    allowed = get_per_minute(rate)
    bucket = _get_bucket(token_id, rate, allowed)
    taken = bucket.try_acquire()
    headers = {
        "RateLimit-Limit": str(allowed),
        "RateLimit-Remaining": str(bucket.remaining),
        "RateLimit-Reset": str(ceil(bucket.seconds_until_full)),
    }
    if not taken:
        wait = max(1, ceil(bucket.wait_seconds))
        raise api_error(
            429,
            (),
            f"Too many requests: {allowed} a minute are allowed here. Wait {wait} s.",
            "rate_limit",
            headers={**headers, "Retry-After": str(wait)},
        )
    return headers


def get_per_minute(rate: Rate) -> int:
    chosen: dict[str, int] = getattr(settings, "API_PER_MINUTE", {})
    return chosen.get(rate, PER_MINUTE[rate])


def _get_bucket(token_id: int, rate: Rate, allowed: int) -> TokenBucket:
    if len(_buckets) > MAX_BUCKETS:  # a full one says nothing that a new one would not
        for key in [key for key, kept in _buckets.items() if kept.seconds_until_full == 0]:
            del _buckets[key]
    return _buckets.setdefault((token_id, rate), TokenBucket(allowed, allowed / 60))


def reset() -> None:
    """Start counting from zero. For tests."""
    _buckets.clear()


def check_stream_limit(user_id: int) -> None:
    if _streams[user_id] >= MAX_STREAMS:
        raise api_error(
            429,
            (),
            f"You have {MAX_STREAMS} streams open. Close some first.",
            "too_many_streams",
            headers={"Retry-After": "5"},
        )


@contextmanager
def count_stream(user_id: int) -> Iterator[None]:
    _streams[user_id] += 1
    try:
        yield
    finally:
        _streams[user_id] -= 1
        if not _streams[user_id]:
            del _streams[user_id]
