"""Virtual time: it jumps, it is exact, and it knows when nothing can happen any more."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable

import pytest

from agents.core.ports import Clock
from tests.support.timing import PATIENCE, assert_in_proportion
from tests.support.virtual import (
    EPOCH,
    VirtualClock,
    VirtualDeadlock,
    VirtualTimeLoop,
    VirtualTimeout,
    run_virtual,
    virtual_time,
)

MINUTE = 60


def now() -> float:
    return asyncio.get_running_loop().time()


def test_a_thousand_minutes_pass_without_waiting_in_time_that_grows_with_the_sleeps() -> None:
    async def sleep(times: int) -> float:
        for _ in range(times):
            await asyncio.sleep(MINUTE)
        return now()

    assert run_virtual(sleep(1_000), 1_000 * MINUTE) == 1_000 * MINUTE
    assert_in_proportion(lambda times: run_virtual(sleep(times), times * MINUTE), int, size=4_000)


@virtual_time
async def test_sleepers_wake_in_order_and_on_time() -> None:
    woken = []

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(seconds)
        woken.append((seconds, now()))

    await asyncio.gather(*map(sleep, [3, 0.1, 80_000, 2]))
    assert woken == [(0.1, 0.1), (2, 2), (3, 3), (80_000, 80_000)]


@virtual_time
async def test_timeouts_strike_at_their_time() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(120):
            await asyncio.Event().wait()
    assert now() == 120


@virtual_time
async def test_the_clock_reads_the_loop() -> None:
    clock: Clock = VirtualClock()
    fired: list[float] = []
    clock.call_at(10, lambda: fired.append(clock.monotonic()))
    clock.call_at(20, lambda: fired.append(clock.monotonic())).cancel()
    await asyncio.sleep(30)
    assert fired == [10]
    assert (clock.monotonic(), clock.time()) == (30, EPOCH + 30)


@pytest.mark.parametrize("seconds", [None, float("inf")])
def test_a_dead_lock_is_an_error_that_names_who_waits(seconds: float | None) -> None:
    async def wait_for_ever() -> None:
        await (asyncio.Event().wait() if seconds is None else asyncio.sleep(seconds))

    with pytest.raises(VirtualDeadlock, match="wait_for_ever"):
        run_virtual(wait_for_ever())


def test_a_program_that_takes_too_long_is_stopped_even_if_it_ignores_cancellation() -> None:
    async def stubborn() -> None:
        while now() < 2_000:
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:
                continue

    with pytest.raises(VirtualTimeout, match="500 virtual seconds"):
        run_virtual(stubborn(), timeout_virtual_seconds=500)


def test_what_a_program_leaves_behind_is_cancelled() -> None:
    ended: list[str] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            ended.append("generator")

    async def background() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("task")

    async def program() -> None:
        generators.append(numbers())
        await anext(generators[0])
        tasks.append(asyncio.create_task(background()))
        await asyncio.sleep(1)

    generators: list[AsyncIterator[int]] = []
    tasks: list[asyncio.Task[None]] = []
    run_virtual(program())
    assert sorted(ended) == ["generator", "task"]


def test_an_error_of_the_program_is_the_error_of_the_run() -> None:
    async def program() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        run_virtual(program())


def test_a_thread_that_finishes_soon_finishes_before_time_jumps() -> None:
    async def program() -> float:
        alarm = asyncio.create_task(asyncio.sleep(60))
        for number in range(100):
            assert await asyncio.to_thread(int, number) == number
        await asyncio.to_thread(time.sleep, 0.005)
        alarm.cancel()
        return now()

    assert run_virtual(program(), thread_grace=30) == 0


async def in_a_daemon(job: Callable[[], object]) -> None:
    """Run a job in a thread that the loop was not told of."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def work() -> None:
        job()
        loop.call_soon_threadsafe(done.set)

    threading.Thread(target=work, daemon=True).start()
    await done.wait()


def test_a_daemon_thread_is_given_time_to_finish_too() -> None:
    async def program() -> float:
        alarm = asyncio.create_task(asyncio.sleep(60))
        for _ in range(20):
            await in_a_daemon(lambda: time.sleep(0.001))
        alarm.cancel()
        return now()

    assert run_virtual(program(), thread_grace=30) == 0


def test_a_blocked_daemon_thread_stalls_time_once() -> None:
    gate = threading.Event()

    async def program() -> int:
        blocked = asyncio.create_task(in_a_daemon(gate.wait))
        for _ in range(100):
            await asyncio.sleep(1)
        stalls = count_stalls()
        gate.set()
        await blocked
        return stalls

    assert run_virtual(program(), thread_grace=0.1, patience=PATIENCE) == 1


def count_stalls() -> int:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    return loop.graces


def test_a_blocked_thread_stalls_time_once() -> None:
    gate = threading.Event()

    async def program() -> int:
        blocked = asyncio.get_running_loop().run_in_executor(None, gate.wait)
        for _ in range(100):
            await asyncio.sleep(1)
        stalls = count_stalls()
        gate.set()
        await blocked
        return stalls

    assert run_virtual(program(), thread_grace=0.1) == 1


def test_a_thread_known_to_be_blocked_does_not_stall_time() -> None:
    gate = threading.Event()

    async def program() -> int:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        blocked = loop.run_in_executor(None, gate.wait)
        loop.never_wait_for(blocked)
        await asyncio.sleep(1_000)
        return count_stalls()

    try:
        assert run_virtual(program(), thread_grace=0.1) == 0
    finally:
        gate.set()


def test_a_thread_is_waited_for_when_there_is_nothing_else() -> None:
    async def program() -> int:
        await asyncio.to_thread(time.sleep, 0.02)
        return 7

    assert run_virtual(program(), thread_grace=0.001, patience=30) == 7


def test_waiting_for_a_blocked_thread_alone_is_a_dead_lock() -> None:
    gate = threading.Event()
    try:
        with pytest.raises(VirtualDeadlock):
            run_virtual(asyncio.to_thread(gate.wait), thread_grace=0.01, patience=0.02)
    finally:
        gate.set()
