"""Thousands of seeds as tests of some hundreds each, which processes share.

    @pytest.mark.long
    @in_slices(10_000)
    def test_no_run_breaks_a_promise(seeds: range, record_property: RecordProperty) -> None:
        record_property(COUNTED, {"completed": 120})

What the slices of one test have counted and measured is summed up at the end of the session.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator

import pytest

SLICE = 500
COUNTED = "counted"
"""A property with how often something was met, by name."""
MEASURED = "measured"
"""A property with lists of seconds, by name."""

RecordProperty = Callable[[str, object], None]


def in_slices(count: int, first: int = 0, size: int = SLICE) -> pytest.MarkDecorator:
    """Let a test be called with some of so many `seeds` at a time."""
    every = range(first, first + count)
    parts = [every[at : at + size] for at in range(0, count, size)]
    return pytest.mark.parametrize("seeds", parts, ids=[str(part.start) for part in parts])


def sum_up(reports: Iterable[pytest.TestReport]) -> Iterator[str]:
    """Lines about every test that has recorded something."""
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    measured: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for report in reports:
        test = report.nodeid.partition("[")[0]
        for name, value in report.user_properties:
            if name == COUNTED and isinstance(value, dict):
                counted[test].update(value)
            elif name == MEASURED and isinstance(value, dict):
                for what, seconds in value.items():
                    measured[test][what] += seconds
    for test, counts in counted.items():
        yield f"{test}: {counts.total():,}: {dict(counts.most_common())}"
        for what, seconds in sorted(measured[test].items()):
            seconds.sort()
            p99 = seconds[int(0.99 * (len(seconds) - 1))]
            yield f"  {what:16} n={len(seconds):5}  p99 {p99:.3f}  max {seconds[-1]:.3f}"
