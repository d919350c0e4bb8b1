"""What a server does once a day."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from agents.projects.purge import purge_due_projects
from agents.runtime import Runtime
from oracle_site.server import maintenance
from tests.support.timing import PATIENCE


class Counter:
    """A runtime that counts what it is asked to do, and fails the first time."""

    def __init__(self) -> None:
        self.asked: list[Callable[[], Any]] = []
        self.twice = asyncio.Event()

    async def run_db(self, work: Callable[[], Any]) -> None:
        self.asked.append(work)
        if len(self.asked) == 1:
            raise RuntimeError("the database is away")
        if len(self.asked) > 2 * len(maintenance.DAILY_WORK):
            self.twice.set()


async def test_daily_work_is_done_at_the_start_and_every_day_whatever_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(maintenance, "PERIOD_SECONDS", 0.0)
    counter = Counter()
    task = asyncio.create_task(maintenance.maintain(cast(Runtime, counter)))
    async with asyncio.timeout(PATIENCE):
        await counter.twice.wait()
    task.cancel()
    await asyncio.wait([task])
    assert counter.asked[: len(maintenance.DAILY_WORK)] == list(maintenance.DAILY_WORK)
    assert purge_due_projects in maintenance.DAILY_WORK
