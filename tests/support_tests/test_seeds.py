"""Slices of seeds: none is missing, and what they counted is summed up."""

import pytest

from tests.support.seeds import COUNTED, MEASURED, in_slices, sum_up


def test_slices_are_all_seeds_once() -> None:
    _names, parts = in_slices(1_050, first=100).args
    assert [seed for part in parts for seed in part] == list(range(100, 1_150))
    assert [len(part) for part in parts] == [500, 500, 50]


def report(test: str, **properties: object) -> pytest.TestReport:
    made = pytest.TestReport(test, ("", None, ""), {}, "passed", None, "call")
    made.user_properties = list(properties.items())
    return made


def test_what_slices_counted_and_measured_is_told_together() -> None:
    first = {COUNTED: {"a": 3, "b": 1}, MEASURED: {"a": [0.1, 0.3]}}
    second = {COUNTED: {"a": 2}, MEASURED: {"a": [0.2]}}
    reports = [report("x[0]", **first), report("x[500]", **second), report("y")]
    assert list(sum_up(reports)) == [
        "x: 6: {'a': 5, 'b': 1}",
        "  a                n=    3  p99 0.200  max 0.300",
    ]
