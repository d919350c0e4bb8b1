"""Tasks that are stopped, and those that will not stop."""

import asyncio
import logging

import pytest

from agents.core.tasks import abandoned_tasks, spawn, stop
from tests.support.virtual import virtual_time


async def sleeps(seconds: float) -> None:
    await asyncio.sleep(seconds)


async def swallows(seconds: float, error: Exception | None = None) -> None:
    """Takes so many seconds, whoever cancels it."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while (left := end - loop.time()) > 0:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError:
            continue
    if error:
        raise error


def now() -> float:
    return asyncio.get_running_loop().time()


@virtual_time
async def test_a_task_that_can_be_cancelled_ends_at_once() -> None:
    task = spawn(sleeps(100), "sleeper")
    await asyncio.sleep(0)
    await stop([task], 0.2)
    assert task.cancelled()
    assert (now(), abandoned_tasks()) == (0, 0)


@virtual_time
async def test_a_task_that_swallows_cancellation_is_waited_for_no_longer_than_the_grace(
    caplog: pytest.LogCaptureFixture,
) -> None:
    task = spawn(swallows(100), "deaf")
    await asyncio.sleep(0)
    with caplog.at_level(logging.WARNING):
        await stop([task], 0.2)
    assert now() == pytest.approx(0.2)
    assert not task.done()
    assert abandoned_tasks() == 1
    assert "task deaf ignores its cancellation" in caplog.text
    await asyncio.sleep(100)
    assert task.done()
    assert abandoned_tasks() == 0


@virtual_time
async def test_a_stray_that_fails_in_the_end_is_logged_and_forgotten(
    caplog: pytest.LogCaptureFixture,
) -> None:
    task = spawn(swallows(10, KeyError("x")), "deaf")
    await asyncio.sleep(0)
    await stop([task], 0.2)
    await asyncio.sleep(10)
    assert abandoned_tasks() == 0
    assert "ended with KeyError" in caplog.text


@virtual_time
async def test_one_deaf_task_does_not_cost_more_than_many() -> None:
    tasks = [spawn(swallows(5), f"deaf {n}") for n in range(10)]
    await asyncio.sleep(0)
    await stop(tasks, 0.2)
    assert now() == pytest.approx(0.2)
    assert abandoned_tasks() == 10
    await asyncio.wait(tasks)


@virtual_time
async def test_stopping_nothing_or_what_has_ended_takes_no_time() -> None:
    task = spawn(sleeps(1), "sleeper")
    await task
    await stop([], 5)
    await stop([task], 5)
    assert now() == 1
    assert not task.cancelled()


@virtual_time
async def test_a_spawned_task_has_its_name() -> None:
    task = spawn(sleeps(1), "tool look")
    assert task.get_name() == "tool look"
    await task
