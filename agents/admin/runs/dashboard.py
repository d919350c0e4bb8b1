"""The charts above the list, over the runs that it shows.

Runs over time are all runs of the filter. Shares of limits, models and tools are those of its
newest runs, so that a list opens quickly however many there are; the page says so, and links to
models of all.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Count, Max, QuerySet, Sum

from agents.admin.runs.aggregates import DateSpan, RunCounts, group_by_span
from agents.models import RunTool
from agents.web.charts import (
    Bar,
    BarSegment,
    Chart,
    horizontal_bar,
    layered_chart,
)
from agents.web.limit_usage import PERCENT_COLUMNS, LimitDistribution, build_distributions
from agents.web.reason_labels import (
    RUNNING,
    CountsByReason,
    LegendEntry,
    reason_legend,
    reason_segments,
)

SAMPLE_SIZE = 1_000
"""Runs whose shares, models and tools are looked at."""
MAX_ROWS = 8
"""Of a table of tools or models."""


@dataclass(frozen=True)
class SpanColumn(CountsByReason):
    """A day, a week or a month as the table has it."""

    span: DateSpan
    runs: Counter[str]


@dataclass(frozen=True)
class ToolStats:
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
class BarRow:
    """A row of a table that is a chart: something, and its bars."""

    about: Any
    bars: Sequence[Bar]
    more: Sequence[Bar] = ()


@dataclass(frozen=True)
class ModelStats(CountsByReason):
    name: str
    runs: Counter[str]
    tokens: int


class Dashboard:
    """Numbers for the template; each is asked for when it is shown."""

    newest = SAMPLE_SIZE

    def __init__(self, counts: RunCounts, runs: QuerySet[Any], *, all_runs: bool = False) -> None:
        self.counts = counts
        self._runs = runs
        self.all_runs = all_runs

    @property
    def is_partial(self) -> bool:
        return not self.all_runs and self.counts.total > SAMPLE_SIZE

    @cached_property
    def columns(self) -> list[SpanColumn]:
        return [SpanColumn(span, runs) for span, runs in group_by_span(self.counts)]

    @property
    def table_columns(self) -> list[SpanColumn]:
        return [column for column in reversed(self.columns) if column.total]

    @property
    def runs_chart(self) -> Chart:
        """One shape for each reason: a year in single bars would be most of the page."""
        parts = [list(reason_segments(column.runs)) for column in self.columns]
        titles = [f"{column.span.name}: {column.reasons or 'no runs'}" for column in self.columns]
        return layered_chart(parts, titles, self.columns[0].span.name, self.columns[-1].span.name)

    @property
    def legend(self) -> list[LegendEntry]:
        return reason_legend(self.counts.by_reason)

    @cached_property
    def _newest_rows(self) -> list[tuple[Any, ...]]:
        """Of each of the newest runs: model, reason, tokens, and percents of its limits."""
        columns = ("model", "reason", "tokens", *PERCENT_COLUMNS)
        return list(self._runs.order_by("-day").values_list(*columns)[:SAMPLE_SIZE])

    @cached_property
    def shares(self) -> list[LimitDistribution]:
        return build_distributions([row[3:] for row in self._newest_rows])

    @cached_property
    def tools(self) -> list[ToolStats]:
        """Each tool that the newest runs used: those of whole days, found in the index by day."""
        runs = self._runs.filter(day__gte=self.counts.find_first_day(SAMPLE_SIZE)).values("pk")
        grouped = RunTool.objects.filter(run__in=runs).order_by().values_list("name")
        sums = [Sum(name) for name in ("calls", "failed", "refused", "total_ms")]
        return [ToolStats(*row) for row in grouped.annotate(*sums, Max("slowest_ms"))]

    @property
    def slowest_tools(self) -> list[BarRow]:
        tools = sorted(self.tools, key=lambda tool: (-tool.mean_ms, tool.name))[:MAX_ROWS]
        top = max((tool.mean_ms for tool in tools), default=0)
        return [
            BarRow(tool, horizontal_bar([BarSegment(int(tool.mean_ms), "got", "")], top))
            for tool in tools
        ]

    @property
    def failing_tools(self) -> list[BarRow]:
        bad = [tool for tool in self.tools if tool.failed]
        tools = sorted(bad, key=lambda tool: (-tool.failed, tool.name))[:MAX_ROWS]
        top = max((tool.failed for tool in tools), default=0)
        return [
            BarRow(tool, horizontal_bar([BarSegment(tool.failed, "failed", "")], top))
            for tool in tools
        ]

    @cached_property
    def models(self) -> list[ModelStats]:
        runs: dict[str, Counter[str]] = {}
        tokens: Counter[str] = Counter()
        for model, reason, number, used in self._iter_model_reasons():
            runs.setdefault(model, Counter())[reason or RUNNING] += number
            tokens[model] += used if isinstance(used, int) else 0
        found = [ModelStats(name, endings, tokens[name]) for name, endings in runs.items()]
        return sorted(found, key=lambda model: (-model.tokens, model.name))

    def _iter_model_reasons(self) -> Iterator[tuple[Any, ...]]:
        """Yield models with reasons: how many runs, and their tokens."""
        if self.all_runs:
            columns = ("day", "reason", "outcome", "model")  # as the index by day has them
            grouped = self._runs.order_by(*columns).values_list(*columns)
            counted = grouped.annotate(number=Count("*"), sum=Sum("tokens"))
            for _, reason, _, model, number, used in counted:
                yield model, reason, number, used
            return
        yield from ((model, reason, 1, tokens) for model, reason, tokens, *_ in self._newest_rows)

    @property
    def model_rows(self) -> list[BarRow]:
        top = max((model.tokens for model in self.models), default=0)
        return [
            BarRow(
                model,
                horizontal_bar([BarSegment(model.tokens, "got", "")], top),
                horizontal_bar(reason_segments(model.runs), model.total),
            )
            for model in self.models[:MAX_ROWS]
        ]
