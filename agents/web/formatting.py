"""Values as text: counts, times, JSON."""

import json
from datetime import UTC, datetime
from typing import Any


def format_count(number: int, noun: str) -> str:
    """Return "1 run", "2 runs", "1,000 runs"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def format_timestamp(moment: datetime | None) -> str | None:
    """Return a moment as files have it: ISO 8601, in UTC, to the millisecond."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds") if moment else None


def dump_json(value: Any) -> str:
    """Return JSON that people can read: letters of all scripts stay as they are."""
    return json.dumps(value, ensure_ascii=False)
