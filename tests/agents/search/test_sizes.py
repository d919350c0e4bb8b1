"""The size of what is searched: counted where it is small, kept for a while where it is large."""

import pytest

from agents.search import sizes
from agents.search.sizes import KEPT_SECONDS, MIN_KEPT_DOCUMENTS, Size, SizeKey, get_size

KEY: SizeKey = (("harbour",), True)


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "_kept", {})


def count_to(*numbers: int) -> list[int]:
    """Return what is told when so many documents are there, at one question after the other."""
    counted = iter(numbers)
    return [get_size(KEY, lambda: Size(next(counted), 10.0, 5.0)).documents for _ in numbers]


def test_what_is_small_is_counted_each_time() -> None:
    assert count_to(1, MIN_KEPT_DOCUMENTS - 1, 3) == [1, MIN_KEPT_DOCUMENTS - 1, 3]


def test_what_is_large_is_counted_once_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000.0
    monkeypatch.setattr("agents.search.sizes.time.monotonic", lambda: now)
    large = MIN_KEPT_DOCUMENTS
    assert count_to(large, large + 1) == [large, large]
    now += KEPT_SECONDS
    assert count_to(large + 2) == [large + 2]


def test_each_place_has_its_own_size() -> None:
    large = MIN_KEPT_DOCUMENTS
    assert count_to(large) == [large]
    other: SizeKey = (("quay",), True)
    assert get_size(other, lambda: Size(7, 10.0, 5.0)).documents == 7


def test_what_is_kept_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "MAX_KEPT", 3)
    for number in range(10):
        get_size(((str(number),), True), lambda: Size(MIN_KEPT_DOCUMENTS, 10.0, 5.0))
    assert len(sizes._kept) <= 3
