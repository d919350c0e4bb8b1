"""Runs of a filter by day and reason: one query for the chart, the calendar and the total."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cached_property
from typing import Any

from django.db.models import Count, QuerySet, Sum

from agents.web.reason_labels import RUNNING

MAX_COLUMNS = 92
MIN_DAYS = 14


@dataclass(frozen=True)
class DateSpan:
    """A column of a chart: its first day, and what is written for it."""

    first: date
    name: str


@dataclass
class RunCounts:
    """What is counted over all runs of a filter, however many."""

    by_day: dict[date, Counter[str]] = field(default_factory=dict)
    """Runs by reason, the oldest day first."""
    tokens: int = 0

    @cached_property
    def by_reason(self) -> Counter[str]:
        return sum(self.by_day.values(), Counter())

    @property
    def total(self) -> int:
        return self.by_reason.total()

    @property
    def days(self) -> list[date]:
        return list(self.by_day)

    def find_first_day(self, number: int) -> date:
        """Return the day since which there were so many runs, or the first one."""
        found = 0
        for day in reversed(self.by_day):
            found += self.by_day[day].total()
            if found >= number:
                return day
        return next(iter(self.by_day), date.min)

    def find_page_start(self, number: int, *, newest_first: bool) -> tuple[date | None, int]:
        """Return where a page begins: the day, and how many runs of it come before."""
        for day in reversed(self.by_day) if newest_first else self.by_day:
            runs = self.by_day[day].total()
            if number < runs:
                return day, number
            number -= runs
        return None, 0


def count_runs(runs: QuerySet[Any]) -> RunCounts:
    """In the order of the index by day, so that nothing is sorted and no row is touched. A run
    without a reason is running."""
    grouped = runs.order_by("day", "reason").values_list("day", "reason")
    found = RunCounts()
    for day, reason, number, tokens in grouped.annotate(number=Count("*"), sum=Sum("tokens")):
        found.by_day.setdefault(day, Counter())[reason or RUNNING] += number
        found.tokens += tokens or 0
    return found


# -- columns --------------------------------------------------------------------------------------


def build_spans(first: date, last: date) -> list[DateSpan]:
    """Return days, or weeks, months, years if those were too many; also those without a run."""
    for unit in (_iter_days, _iter_weeks, _iter_months):
        found = list(unit(first, last))
        if len(found) <= MAX_COLUMNS:
            return found
    return [DateSpan(date(year, 1, 1), str(year)) for year in range(first.year, last.year + 1)]


def _iter_days(first: date, last: date) -> Iterator[DateSpan]:
    for number in range(min((last - first).days, MAX_COLUMNS) + 1):
        day = first + timedelta(days=number)
        yield DateSpan(day, f"{day.day} {day:%b %Y}")


def _iter_weeks(first: date, last: date) -> Iterator[DateSpan]:
    monday = first.toordinal() - first.weekday()
    for number in range(max(monday, 1), last.toordinal() + 1, 7)[: MAX_COLUMNS + 1]:
        day = date.fromordinal(number)
        yield DateSpan(day, f"week of {day.day} {day:%b %Y}")


def _iter_months(first: date, last: date) -> Iterator[DateSpan]:
    begin, end = first.year * 12 + first.month - 1, last.year * 12 + last.month - 1
    for number in range(begin, end + 1)[: MAX_COLUMNS + 1]:
        day = date(number // 12, number % 12 + 1, 1)
        yield DateSpan(day, f"{day:%B %Y}")


def _pad_start(last: date) -> date:
    """Pad to a few weeks, so that bars stay narrow."""
    return date.fromordinal(max(last.toordinal() - MIN_DAYS + 1, 1))


def group_by_span(counts: RunCounts) -> list[tuple[DateSpan, Counter[str]]]:
    """Return runs of each column by how they ended, the oldest first."""
    if not counts.by_day:
        return []
    first, last = counts.days[0], counts.days[-1]
    columns = build_spans(min(first, _pad_start(last)), last)
    begins = [column.first for column in columns]
    found: list[Counter[str]] = [Counter() for _ in columns]
    for day, runs in counts.by_day.items():
        found[max(bisect_right(begins, day) - 1, 0)].update(runs)
    return list(zip(columns, found, strict=True))
