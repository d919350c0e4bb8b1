"""Measure work on any machine: as a multiple of other work, never in seconds."""

import gc
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from math import ceil
from typing import TypeVar

PATIENCE = 60.0
"""Real seconds after which a test says that something hangs: never a promise about speed."""
TIMES_AS_LARGE = 8
MOST_GROWTH = 20.0
"""By how much the work may grow for an input that is eight times as large. In proportion it grows
by eight, and by up to twice that where the larger input leaves the processor's caches; with the
square of the size it grows by 64."""
_LEAST_SECONDS = 0.002
"""Shorter than this, a reference is repeated: what a clock costs is not to count."""

T = TypeVar("T")


def measure_multiple(
    work: Callable[[], object],
    reference: Callable[[], object],
    *,
    enough: float,
    tries: int = 8,
    clock: Callable[[], float] = time.thread_time,
) -> float:
    """Return the time of `work` as a multiple of that of `reference`: of this thread's CPU, or by
    another clock.

    The two take turns, and the least of each counts: neighbours, the collector and cold caches add
    to it and never take away. A multiple of at most `enough` ends the tries, and so does one that
    is still twice as much at the second.
    """
    reference()  # what is made once is not counted
    repeats = ceil(_LEAST_SECONDS / max(_measure_seconds(reference, clock), 1e-6))
    least_work = least_reference = float("inf")
    for number in range(tries):
        seconds = _measure_seconds(lambda: [reference() for _ in range(repeats)], clock) / repeats
        least_reference = min(least_reference, seconds)
        least_work = min(least_work, _measure_seconds(work, clock))
        if least_work <= enough * least_reference or (
            number and least_work > 2 * enough * least_reference
        ):
            break
    return least_work / least_reference


async def measure_multiple_async(
    work: Callable[[], Awaitable[object]],
    reference: Callable[[], Awaitable[object]],
    *,
    enough: float,
    tries: int = 4,
) -> float:
    """As `measure_multiple`, with the CPU time of all threads of this process."""
    await reference()
    least_work = least_reference = float("inf")
    for _ in range(tries):
        least_reference = min(least_reference, await _measure_process_seconds(reference))
        least_work = min(least_work, await _measure_process_seconds(work))
        if least_work <= enough * least_reference:
            break
    return least_work / least_reference


def assert_in_proportion(
    work: Callable[[T], object], build: Callable[[int], T], *, size: int
) -> None:
    """Fail when the work for what `build` makes of `size` grows much faster than the size.

    It is compared with what is built of an eighth of `size`.
    """
    small, large = build(size // TIMES_AS_LARGE), build(size)
    growth = measure_multiple(lambda: work(large), lambda: work(small), enough=MOST_GROWTH)
    assert growth <= MOST_GROWTH, f"{TIMES_AS_LARGE} times as large is {growth:.0f} times the work"


@contextmanager
def _without_collector() -> Iterator[None]:
    """Keep the collector from looking at what other tests have left."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def look_again(pause: float = 0.01) -> Iterator[None]:
    """Go round a loop, with pauses, until `PATIENCE` is over."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        yield
        time.sleep(pause)


def count_calls(work: Callable[[], object]) -> int:
    """Return how many functions `work` calls in this thread, those of Python itself included."""
    calls = 0

    def count(_frame: object, event: str, _function: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


def _measure_seconds(work: Callable[[], object], clock: Callable[[], float]) -> float:
    with _without_collector():
        began = clock()
        work()
        return clock() - began


async def _measure_process_seconds(work: Callable[[], Awaitable[object]]) -> float:
    with _without_collector():
        began = time.process_time()
        await work()
        return time.process_time() - began
