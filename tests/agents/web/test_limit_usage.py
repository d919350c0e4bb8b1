"""Shares of limits, over many runs."""

from agents.web.limit_usage import build_distributions


def test_each_limit_is_counted_by_itself_and_unknown_shares_are_left_out() -> None:
    turns, time = build_distributions([(10, None, 95), (100, None, 95), (None, None, 5)])
    assert (turns.label, turns.percents) == ("Iterations", {10: 1, 100: 1})
    assert (time.label, time.runs_near_limit, time.max_percent) == ("Time", 2, 95)
    assert turns.median_percent == 55
    assert dict(turns.bins)["90 to 100 %"] == 1


def test_without_runs_there_is_nothing_to_show() -> None:
    assert build_distributions([]) == []
