"""Whether and when to try again: the one place that decides, and it asks the error."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Protocol

from agents.llm.errors import EndpointError, NoTimeToRetry

MAX_RETRY_AFTER_SECONDS = 10 * 365 * 86_400.0
"""Seconds; no run waits nearly as long, so that more need not be told apart."""


class Random(Protocol):
    def random(self) -> float: ...


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    rng: Random
    max_attempts: int = 3
    first_wait: float = 0.5
    max_wait: float = 8.0

    def wait_after(self, error: EndpointError, attempt: int, time_left: float) -> float:
        """Return seconds until the next try after the failed `attempt`; raise what ends it."""
        if not error.retryable or attempt >= self.max_attempts:
            raise error
        wait = self._wait(error.retry_after, attempt)
        if wait >= time_left:
            raise NoTimeToRetry(error, wait)
        return wait

    def _wait(self, retry_after: float | None, attempt: int) -> float:
        if retry_after == 0:
            return 0.0
        jitter = self.rng.random()
        if retry_after is not None:
            return retry_after + jitter * self.first_wait
        wait = min(self.first_wait * 2.0 ** (attempt - 1), self.max_wait)
        return wait * (0.5 + jitter)


def parse_retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return seconds to wait as the headers ask; `now` is wall time. None if they do not say."""
    value = headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        seconds = _seconds_until(value, now)
    if math.isinf(seconds) and value.isdecimal():
        seconds = MAX_RETRY_AFTER_SECONDS
    return min(seconds, MAX_RETRY_AFTER_SECONDS) if math.isfinite(seconds) and seconds > 0 else None


def _seconds_until(date: str, now: float) -> float:
    try:
        return parsedate_to_datetime(date).timestamp() - now
    except (ValueError, TypeError, OverflowError, IndexError):
        return 0.0
