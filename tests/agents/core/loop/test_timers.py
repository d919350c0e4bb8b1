"""When a run is woken: at the moments it wants at present, and at no other."""

import asyncio

from agents.core.loop.timers import RunTimers
from tests.support.virtual import VirtualClock, virtual_time


def build_timers() -> tuple[RunTimers, list[float]]:
    """Return timers, and the times at which they have rung."""
    loop, rung = asyncio.get_running_loop(), list[float]()
    return RunTimers(VirtualClock(), lambda: rung.append(loop.time())), rung


@virtual_time
async def test_a_timer_rings_when_it_is_due_and_once() -> None:
    timers, rung = build_timers()
    timers.want(20, 10)
    timers.want(10)
    await asyncio.sleep(50)
    assert rung == [10, 20]


@virtual_time
async def test_a_moment_that_is_no_longer_wanted_wakes_nobody() -> None:
    timers, rung = build_timers()
    timers.want(10, 20)
    timers.want_only(20)
    await asyncio.sleep(50)
    assert rung == [20]


@virtual_time
async def test_a_moment_can_be_wanted_again_before_it_comes() -> None:
    timers, rung = build_timers()
    timers.want(10)
    timers.want_only(20)
    timers.want_only(10)
    await asyncio.sleep(50)
    assert rung == [10]


@virtual_time
async def test_a_moment_that_has_passed_rings_at_once_whenever_it_is_wanted() -> None:
    timers, rung = build_timers()
    timers.want(10)
    await asyncio.sleep(15)
    timers.want_only(10)
    await asyncio.sleep(5)
    assert rung == [10, 15]


@virtual_time
async def test_cancelled_timers_do_not_ring() -> None:
    timers, rung = build_timers()
    timers.want(10)
    timers.cancel()
    await asyncio.sleep(50)
    assert rung == []


class CountingClock(VirtualClock):
    timers = 0

    def call_at(self, when: float, callback: object) -> asyncio.TimerHandle:
        self.timers += 1
        return super().call_at(when, callback)  # type: ignore[arg-type]  # as it is handed on


@virtual_time
async def test_turns_that_want_the_same_moments_set_no_timer_again() -> None:
    clock = CountingClock()
    timers = RunTimers(clock, lambda: None)
    for _ in range(10):
        timers.want_only(300, 80)
        timers.want_only(285, 80)
    assert clock.timers == 3
