"""Cache how many documents a project has, if there are so many that counting them takes long.

Counting the entries of a project costs more than finding a rare word in them. The number is used to
compute how rare a word is, which hardly changes with a few texts among thousands.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

MIN_KEPT_DOCUMENTS = 5_000
"""Fewer are counted each time, so that what is small is exact."""
KEPT_SECONDS = 30.0
MAX_KEPT = 1_000

SizeKey = tuple[tuple[str, ...], bool]
"""Scopes, and whether they have sections."""


@dataclass(frozen=True, slots=True)
class Size:
    """How many documents there are to look through, and how long all are on average."""

    documents: int
    mean_document_length: float
    mean_section_length: float


_kept: dict[SizeKey, tuple[float, Size]] = {}


def get_size(key: SizeKey, count: Callable[[], Size]) -> Size:
    """Return a size that was counted a moment ago, or count it."""
    now = time.monotonic()
    until, size = _kept.get(key, (0.0, None))
    if size is not None and now < until:
        return size
    size = count()
    _kept.pop(key, None)
    if size.documents >= MIN_KEPT_DOCUMENTS:
        if len(_kept) >= MAX_KEPT:
            _kept.clear()
        _kept[key] = (now + KEPT_SECONDS, size)
    return size
