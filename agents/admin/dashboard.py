"""The charts above the list, over the runs that it shows.

Runs over time are all runs of the filter. Shares of limits, models and tools are those of its
newest runs, so that a list opens quickly however many there are; the page says so, and links to
models of all.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any

from django.db.models import Count, Max, QuerySet, Sum

from agents.admin.counts import Counts, Span, by_span
from agents.charts import (
    BINS,
    RUNNING,
    Bar,
    Chart,
    Part,
    along,
    bin_of,
    distribution,
    in_order,
    label,
    layered,
    tone_of,
)
from agents.models import RunTool

NEWEST = 1_000
"""Runs whose shares, models and tools are looked at."""
MOST_LINES = 8
"""Of a table of tools or models."""
LIMITS = {"turns_percent": "Turns", "tokens_percent": "Tokens", "time_percent": "Time"}


@dataclass(frozen=True)
class Column:
    """A day, a week or a month as the table has it."""

    span: Span
    runs: Counter[str]

    @property
    def total(self) -> int:
        return sum(self.runs.values())

    @property
    def reasons(self) -> str:
        return reasons(self.runs)


@dataclass(frozen=True)
class Share:
    """How many runs used how many percent of one limit, each of its own."""

    label: str
    percents: Counter[int]

    @cached_property
    def _bins(self) -> Counter[int]:
        found: Counter[int] = Counter()
        for percent, runs in self.percents.items():
            found[bin_of(percent / 100)] += runs
        return found

    @property
    def chart(self) -> Chart:
        return distribution(self._bins)

    @property
    def bins(self) -> list[tuple[str, int]]:
        return [(f"{n * 10} to {n * 10 + 10} %", self._bins[n]) for n in range(BINS)]

    @property
    def middle(self) -> float:
        return median(self.percents.elements())

    @property
    def highest(self) -> int:
        return max(self.percents)

    @property
    def close(self) -> int:
        return sum(runs for percent, runs in self.percents.items() if percent >= 90)


@dataclass(frozen=True)
class Tool:
    name: str
    calls: int
    failed: int
    refused: int
    total_ms: int
    slowest_ms: int

    @property
    def mean_ms(self) -> float:
        return self.total_ms / max(self.calls, 1)

    @property
    def failed_percent(self) -> float:
        return 100 * self.failed / max(self.calls, 1)


@dataclass(frozen=True)
class Line:
    """A row of a table that is a chart: something, and its bars."""

    about: Any
    bars: Sequence[Bar]
    more: Sequence[Bar] = ()


@dataclass(frozen=True)
class OfModel:
    name: str
    runs: Counter[str]
    tokens: int

    @property
    def total(self) -> int:
        return sum(self.runs.values())

    @property
    def reasons(self) -> str:
        return reasons(self.runs)


class Dashboard:
    """Numbers for the template; each is asked for when it is shown."""

    newest = NEWEST

    def __init__(self, counts: Counts, counted: QuerySet[Any], *, of_all: bool = False) -> None:
        self.counts = counts
        self._counted = counted
        self.of_all = of_all

    @property
    def is_partial(self) -> bool:
        return not self.of_all and self.counts.total > NEWEST

    @cached_property
    def columns(self) -> list[Column]:
        return [Column(span, runs) for span, runs in by_span(self.counts)]

    @property
    def shown_columns(self) -> list[Column]:
        return [column for column in reversed(self.columns) if column.total]

    @property
    def runs_chart(self) -> Chart:
        """One shape for each reason: a year in single bars would be most of the page."""
        parts = [
            [Part(number, tone_of(code), "") for code, number in in_order(column.runs)]
            for column in self.columns
        ]
        titles = [f"{column.span.name}: {column.reasons or 'no runs'}" for column in self.columns]
        return layered(parts, titles, self.columns[0].span.name, self.columns[-1].span.name)

    @property
    def legend(self) -> list[tuple[str, int, str]]:
        endings = in_order(self.counts.by_reason)
        return [(label(code), number, tone_of(code)) for code, number in endings]

    @cached_property
    def _newest(self) -> list[tuple[Any, ...]]:
        """Of each of the newest runs: model, reason, tokens, and percents of its limits."""
        columns = ("model", "reason", "tokens", *LIMITS)
        return list(self._counted.order_by("-day").values_list(*columns)[:NEWEST])

    @cached_property
    def shares(self) -> list[Share]:
        """A run that goes on has used no share yet."""
        used = [
            Counter(row[at] for row in self._newest if isinstance(row[at], int))
            for at in range(3, 3 + len(LIMITS))
        ]
        return [
            Share(name, found) for name, found in zip(LIMITS.values(), used, strict=True) if found
        ]

    @cached_property
    def tools(self) -> list[Tool]:
        """Each tool that the newest runs used: those of whole days, found in the index by day."""
        runs = self._counted.filter(day__gte=self.counts.newest(NEWEST)).values("pk")
        grouped = RunTool.objects.filter(run__in=runs).order_by().values_list("name")
        sums = [Sum(name) for name in ("calls", "failed", "refused", "total_ms")]
        return [Tool(*row) for row in grouped.annotate(*sums, Max("slowest_ms"))]

    @property
    def slowest(self) -> list[Line]:
        tools = sorted(self.tools, key=lambda tool: (-tool.mean_ms, tool.name))[:MOST_LINES]
        top = max((tool.mean_ms for tool in tools), default=0)
        return [Line(tool, along([Part(int(tool.mean_ms), "got", "")], top)) for tool in tools]

    @property
    def failing(self) -> list[Line]:
        bad = [tool for tool in self.tools if tool.failed]
        tools = sorted(bad, key=lambda tool: (-tool.failed, tool.name))[:MOST_LINES]
        top = max((tool.failed for tool in tools), default=0)
        return [Line(tool, along([Part(tool.failed, "failed", "")], top)) for tool in tools]

    @cached_property
    def models(self) -> list[OfModel]:
        runs: dict[str, Counter[str]] = {}
        tokens: Counter[str] = Counter()
        for model, reason, number, used in self._endings():
            runs.setdefault(model, Counter())[reason or RUNNING] += number
            tokens[model] += used if isinstance(used, int) else 0
        found = [OfModel(name, endings, tokens[name]) for name, endings in runs.items()]
        return sorted(found, key=lambda model: (-model.tokens, model.name))

    def _endings(self) -> Iterator[tuple[Any, ...]]:
        """Models with reasons: how many runs, and their tokens."""
        if self.of_all:
            columns = ("day", "reason", "outcome", "model")  # as the index by day has them
            grouped = self._counted.order_by(*columns).values_list(*columns)
            counted = grouped.annotate(number=Count("*"), sum=Sum("tokens"))
            for _, reason, _, model, number, used in counted:
                yield model, reason, number, used
            return
        yield from ((model, reason, 1, tokens) for model, reason, tokens, *_ in self._newest)

    @property
    def models_lines(self) -> list[Line]:
        top = max((model.tokens for model in self.models), default=0)
        return [
            Line(model, along([Part(model.tokens, "got", "")], top), _endings(model))
            for model in self.models[:MOST_LINES]
        ]


def reasons(runs: Counter[str]) -> str:
    return ", ".join(f"{label(code)} {number:,}" for code, number in in_order(runs))


def _endings(model: OfModel) -> Sequence[Bar]:
    parts = [
        Part(number, tone_of(code), f"{label(code)} {number:,}")
        for code, number in in_order(model.runs)
    ]
    return along(parts, model.total)
