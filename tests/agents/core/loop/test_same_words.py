"""Not a letter of what runs say has changed: compared with what they said when it was recorded.

Where something is meant to change, `tests/support/stream_digests.py` says how to record it anew.
"""

from collections.abc import Iterable

import pytest

from tests.support.stream_digests import RECORDED, digest_run

RUNS = 300
LONG_RUNS = 10_000


def assert_unchanged(seeds: Iterable[int]) -> None:
    recorded = RECORDED.read_text().split()
    changed = [seed for seed in seeds if digest_run(seed) != recorded[seed]]
    assert not changed, f"{len(changed)} runs say something else, among them seeds {changed[:10]}"


def test_three_hundred_runs_say_what_they_said() -> None:
    assert_unchanged(range(RUNS))


@pytest.mark.long
def test_ten_thousand_runs_say_what_they_said() -> None:
    assert_unchanged(range(LONG_RUNS))
