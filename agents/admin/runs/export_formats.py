"""Runs as rows of a file: metadata only, nothing of what was asked, answered or done."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from django.db.models import Q, QuerySet

from agents.core.config import LIMITS
from agents.run_serializer import ATTRIBUTES

BATCH_SIZE = 500
"""Runs that are read in one go."""
COLUMNS = (
    "id", "started_at", "ended_at", "duration_ms", "user", "project", "conversation", "model",
    "tree", "outcome", "reason", "also_triggered", "wrapped_up", "turns", "tool_calls", "tokens_in",
    "tokens_out", "tokens", "usage_source", "turns_percent", "tokens_percent", "time_percent",
    "continued_from", "config",
)  # fmt: skip
_PATHS = {
    "user": "user__username",
    "project": "project__name",
    **ATTRIBUTES,
}
FORMULA_START = re.compile(
    r"(^|\r\n|[,;|\t-\r\x1c-\x1e\x85\u2028\u2029])"
    r"(?=[\s\"']*[=+\-@\t\r＝＋－＠])"  # noqa: RUF001  # spreadsheets read wide signs too
)
"""The places where a formula could begin, behind blanks and quotes too: the beginning of a cell,
and behind each character that another program may read as the end of a cell or a line."""


def iter_rows(runs: QuerySet[Any]) -> Iterator[dict[str, Any]]:
    """Yield the newest first. Each piece is a query of its own, which begins where the last one
    ended: nothing is held open while somebody downloads slowly."""
    paths = [_PATHS.get(name, name) for name in COLUMNS]
    ordered = runs.order_by("-started_at", "id")
    after = Q()
    while page := list(ordered.filter(after).values_list(*paths)[:BATCH_SIZE]):
        yield from (dict(zip(COLUMNS, row, strict=True)) for row in page)
        key, at = page[-1][0], page[-1][1]
        # The first condition is for the index, the second one for runs of the same moment.
        after = Q(started_at__lte=at) & (Q(started_at__lt=at) | Q(id__gt=key))


def as_csv(found: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield lines of CSV; limits are columns of their own."""
    limits = [f"limit_{name}" for name in LIMITS]
    yield _format_csv_line([*COLUMNS[:-1], *limits])
    for row in found:
        config = row["config"] if isinstance(row["config"], dict) else {}
        cells = [row[name] for name in COLUMNS[:-1]]
        yield _format_csv_line(
            [*map(escape_cell, cells), *(escape_cell(config.get(name)) for name in LIMITS)]
        )


def as_json_lines(found: Iterable[dict[str, Any]]) -> Iterator[str]:
    for row in found:
        yield json.dumps(row, ensure_ascii=False, default=_to_text) + "\n"


def escape_cell(value: Any) -> Any:
    """Return a value that no spreadsheet calculates. Numbers are numbers."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = " ".join(map(str, value)) if isinstance(value, list) else _to_text(value)
    return FORMULA_START.sub(r"\1'", text)


def _to_text(value: Any) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _format_csv_line(cells: list[Any]) -> str:
    text = io.StringIO()
    csv.writer(text).writerow(cells)
    return text.getvalue()
