"""Runs of a filter by day and reason: one query for the chart, the calendar and the total."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cached_property
from typing import Any

from django.db.models import Count, QuerySet, Sum

from agents.charts import RUNNING

MOST_COLUMNS = 92
LEAST_DAYS = 14


@dataclass(frozen=True)
class Span:
    """A column of a chart: its first day, and what is written for it."""

    first: date
    name: str


@dataclass
class Counts:
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

    def newest(self, number: int) -> date:
        """The day since which there were so many runs, or the first one."""
        found = 0
        for day in reversed(self.by_day):
            found += self.by_day[day].total()
            if found >= number:
                return day
        return next(iter(self.by_day), date.min)

    def skipped(self, number: int, *, newest_first: bool) -> tuple[date | None, int]:
        """Where a page begins: the day, and how many runs of it come before."""
        for day in reversed(self.by_day) if newest_first else self.by_day:
            runs = self.by_day[day].total()
            if number < runs:
                return day, number
            number -= runs
        return None, 0


def count(runs: QuerySet[Any]) -> Counts:
    """In the order of the index by day, so that nothing is sorted and no row is touched. A run
    without a reason is running."""
    grouped = runs.order_by("day", "reason").values_list("day", "reason")
    found = Counts()
    for day, reason, number, tokens in grouped.annotate(number=Count("*"), sum=Sum("tokens")):
        found.by_day.setdefault(day, Counter())[reason or RUNNING] += number
        found.tokens += tokens or 0
    return found


# -- columns --------------------------------------------------------------------------------------


def spans(first: date, last: date) -> list[Span]:
    """Days, or weeks, months, years if there were too many columns; also those without a run."""
    for unit in (_days, _weeks, _months):
        found = list(unit(first, last))
        if len(found) <= MOST_COLUMNS:
            return found
    return [Span(date(year, 1, 1), str(year)) for year in range(first.year, last.year + 1)]


def _days(first: date, last: date) -> Iterator[Span]:
    for number in range(min((last - first).days, MOST_COLUMNS) + 1):
        day = first + timedelta(days=number)
        yield Span(day, f"{day.day} {day:%b %Y}")


def _weeks(first: date, last: date) -> Iterator[Span]:
    monday = first.toordinal() - first.weekday()
    for number in range(max(monday, 1), last.toordinal() + 1, 7)[: MOST_COLUMNS + 1]:
        day = date.fromordinal(number)
        yield Span(day, f"week of {day.day} {day:%b %Y}")


def _months(first: date, last: date) -> Iterator[Span]:
    begin, end = first.year * 12 + first.month - 1, last.year * 12 + last.month - 1
    for number in range(begin, end + 1)[: MOST_COLUMNS + 1]:
        day = date(number // 12, number % 12 + 1, 1)
        yield Span(day, f"{day:%B %Y}")


def _before(last: date) -> date:
    """A few days alone would be bars as wide as a wall."""
    return date.fromordinal(max(last.toordinal() - LEAST_DAYS + 1, 1))


def by_span(counts: Counts) -> list[tuple[Span, Counter[str]]]:
    """Runs of each column by how they ended, the oldest first."""
    if not counts.by_day:
        return []
    first, last = counts.days[0], counts.days[-1]
    columns = spans(min(first, _before(last)), last)
    begins = [column.first for column in columns]
    found: list[Counter[str]] = [Counter() for _ in columns]
    for day, runs in counts.by_day.items():
        found[max(bisect_right(begins, day) - 1, 0)].update(runs)
    return list(zip(columns, found, strict=True))
