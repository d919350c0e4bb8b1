"""How much of their limits runs used, each of its own."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from agents.web.charts import BINS, Chart, distribution_chart, get_bin
from agents.web.limit_levels import RED_PERCENT

PERCENT_COLUMNS = {
    "turns_percent": "Iterations",
    "tokens_percent": "Tokens",
    "time_percent": "Time",
}
"""Columns of a run that has ended, and what they are called."""


@dataclass(frozen=True)
class LimitDistribution:
    """How many runs used how many percent of one limit, each of its own."""

    label: str
    percents: Counter[int]

    @cached_property
    def _bins(self) -> Counter[int]:
        found: Counter[int] = Counter()
        for percent, runs in self.percents.items():
            found[get_bin(percent / 100)] += runs
        return found

    @property
    def chart(self) -> Chart:
        return distribution_chart(self._bins)

    @property
    def bins(self) -> list[tuple[str, int]]:
        return [(f"{n * 10} to {n * 10 + 10} %", self._bins[n]) for n in range(BINS)]

    @property
    def median_percent(self) -> float:
        return median(self.percents.elements())

    @property
    def max_percent(self) -> int:
        return max(self.percents)

    @property
    def runs_near_limit(self) -> int:
        return sum(runs for percent, runs in self.percents.items() if percent >= RED_PERCENT)


def build_distributions(rows: Sequence[Sequence[int | None]]) -> list[LimitDistribution]:
    """Return one for each limit; a row has the percents of a run, in the order of the columns.

    A run that goes on, or had no such limit, has used no share of it; nor has a damaged row.
    """
    found = [
        LimitDistribution(label, _count_known(row[at] for row in rows))
        for at, label in enumerate(PERCENT_COLUMNS.values())
    ]
    return [limit for limit in found if limit.percents]


def _count_known(percents: Iterable[int | None]) -> Counter[int]:
    return Counter(percent for percent in percents if isinstance(percent, int))
