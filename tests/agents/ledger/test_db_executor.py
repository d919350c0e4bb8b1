"""Threads for database work: one person's work leaves some of them to the others."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from agents.ledger.db_executor import THREADS_PER_PERSON, DatabaseExecutor
from tests.support.timing import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def database() -> AsyncIterator[DatabaseExecutor]:
    executor = DatabaseExecutor(4, "test")
    yield executor
    await executor.close()


class DearWork:
    """What does not end until it is told to."""

    def __init__(self) -> None:
        self.begun = 0
        self.goes_on = threading.Event()
        self._changed = threading.Condition()

    def __call__(self) -> None:
        with self._changed:
            self.begun += 1
            self._changed.notify_all()
        self.goes_on.wait(PATIENCE)

    async def wait_begun(self, times: int) -> None:
        await asyncio.to_thread(self._wait_begun, times)

    def _wait_begun(self, times: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.begun >= times, PATIENCE)


@pytest.mark.parametrize("other", [2, None])
async def test_one_persons_work_leaves_threads_to_others(
    database: DatabaseExecutor, other: int | None
) -> None:
    dear = DearWork()
    theirs = [asyncio.ensure_future(database.run(dear, 1)) for _ in range(20)]
    try:
        async with asyncio.timeout(PATIENCE):
            assert await database.run(lambda: "done", other) == "done"
        await dear.wait_begun(THREADS_PER_PERSON)
        assert dear.begun == THREADS_PER_PERSON
    finally:
        dear.goes_on.set()
        await asyncio.gather(*theirs)
    assert dear.begun == 20


async def test_whoever_hangs_up_has_the_place_until_the_thread_is_free(
    database: DatabaseExecutor,
) -> None:
    dear = DearWork()
    for _ in range(10):
        theirs = asyncio.ensure_future(database.run(dear, 1))
        await asyncio.sleep(0)
        theirs.cancel()
        await asyncio.wait([theirs])
    try:
        async with asyncio.timeout(PATIENCE):
            assert await database.run(lambda: "done", 2) == "done"
        assert dear.begun <= THREADS_PER_PERSON
    finally:
        dear.goes_on.set()
    async with asyncio.timeout(PATIENCE):
        assert await database.run(lambda: "done", 1) == "done"


async def test_nobody_waits_for_threads_that_are_no_more() -> None:
    executor = DatabaseExecutor(4, "test")
    await executor.close()
    for _ in range(THREADS_PER_PERSON + 1):
        with pytest.raises(RuntimeError):
            async with asyncio.timeout(PATIENCE):
                await executor.run(lambda: "done", 1)
