"""Hints to the other processes, over a layer that fails, loses and hangs."""

import asyncio
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import pytest

from agents.ledger import hints
from agents.ledger.hints import HintBroadcaster
from tests.support.timing import PATIENCE

RUN = UUID(int=7)
OTHER = UUID(int=8)


class FakeLayer:
    """A channel layer in memory. It keeps accounts, and fails or loses messages when told."""

    def __init__(self) -> None:
        self.members: defaultdict[str, list[str]] = defaultdict(list)
        self.queues: defaultdict[str, asyncio.Queue[Any]] = defaultdict(asyncio.Queue)
        self.sent: list[dict[str, Any]] = []
        self.joined = 0
        self.failing = False
        self.losing = False
        self.gate = asyncio.Event()
        self.gate.set()
        self.changed = asyncio.Condition()

    async def new_channel(self) -> str:
        return uuid.uuid4().hex

    async def group_add(self, group: str, channel: str) -> None:
        self._fail()
        if channel not in self.members[group]:
            self.members[group].append(channel)
        self.joined += 1
        await self._note()

    async def group_discard(self, group: str, channel: str) -> None:
        self._fail()
        self.members[group].remove(channel)

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        await self.gate.wait()
        self._fail()
        self.sent.append(message)
        for channel in [] if self.losing else self.members[group]:
            self.queues[channel].put_nowait(message)
        await self._note()

    async def receive(self, channel: str) -> dict[str, Any]:
        message = await self.queues[channel].get()
        if isinstance(message, Exception):
            raise message
        received: dict[str, Any] = message
        return received

    def restart(self) -> None:
        """As a server that comes back: listeners are cut off, and it knows nobody any more."""
        channels = [channel for group in self.members.values() for channel in group]
        self.members.clear()
        for channel in channels:
            self.queues[channel].put_nowait(ConnectionError("the server went away"))

    async def until(self, count: str, number: int) -> None:
        """Wait until an account has reached a number."""
        async with asyncio.timeout(PATIENCE), self.changed:
            await self.changed.wait_for(lambda: self._account(count) >= number)

    def _account(self, name: str) -> int:
        return self.joined if name == "joined" else len(self.sent)

    def _fail(self) -> None:
        if self.failing:
            raise ConnectionError("no server")

    async def _note(self) -> None:
        async with self.changed:
            self.changed.notify_all()


class Process:
    """One process: its relay, and what it heard."""

    def __init__(self, layer: FakeLayer) -> None:
        self.heard: asyncio.Queue[dict[UUID, int]] = asyncio.Queue()
        self.relay = HintBroadcaster(layer, self.heard.put_nowait)

    async def hears(self) -> dict[UUID, int]:
        async with asyncio.timeout(PATIENCE):
            return await self.heard.get()


@asynccontextmanager
async def processes(layer: FakeLayer, count: int) -> AsyncIterator[list[Process]]:
    """So many processes that have joined."""
    made = [Process(layer) for _ in range(count)]
    for process in made:
        process.relay.start()
    await layer.until("joined", count)
    try:
        yield made
    finally:
        for process in made:
            await process.relay.close()


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hints, "RETRY_SECONDS", 0.01)


async def test_what_one_process_tells_the_others_hear_and_it_does_not() -> None:
    layer = FakeLayer()
    async with processes(layer, 3) as (one, two, three):
        one.relay.publish({RUN: 5})
        assert await two.hears() == {RUN: 5}
        assert await three.hears() == {RUN: 5}
        two.relay.publish({OTHER: 1})
        assert await one.hears() == {OTHER: 1}
    assert one.heard.empty()
    assert not any(layer.members.values())  # who leaves says so


async def test_commits_during_a_slow_send_share_the_next_message() -> None:
    layer = FakeLayer()
    async with processes(layer, 2) as (one, two):
        layer.gate.clear()
        one.relay.publish({RUN: 1})
        await asyncio.sleep(0)
        for seq in range(2, 50):
            one.relay.publish({RUN: seq, OTHER: seq - 1})
        layer.gate.set()
        heard = await two.hears()
        if heard != {RUN: 49, OTHER: 48}:
            assert heard == {RUN: 1}
            assert await two.hears() == {RUN: 49, OTHER: 48}
    assert len(layer.sent) <= 2


async def test_lost_hints_are_not_missed_by_later_ones() -> None:
    layer = FakeLayer()
    async with processes(layer, 2) as (one, two):
        layer.losing = True
        one.relay.publish({RUN: 1})
        await layer.until("sent", 1)
        layer.losing = False
        one.relay.publish({RUN: 2})
        assert await two.hears() == {RUN: 2}


async def test_a_layer_that_fails_is_tried_again() -> None:
    layer = FakeLayer()
    async with processes(layer, 2) as (one, two):
        layer.failing = True
        one.relay.publish({RUN: 1})
        await asyncio.sleep(0.05)  # a few tries fail
        assert layer.sent == []
        layer.failing = False
        one.relay.publish({RUN: 2})
        assert await two.hears() == {RUN: 2}


async def test_a_listener_joins_anew_when_the_layer_was_restarted() -> None:
    layer = FakeLayer()
    async with processes(layer, 2) as (one, two):
        layer.restart()
        await layer.until("joined", 4)
        one.relay.publish({RUN: 3})
        assert await two.hears() == {RUN: 3}


async def test_a_listener_starts_once_there_is_a_layer() -> None:
    layer = FakeLayer()
    layer.failing = True
    late = Process(layer)
    late.relay.start()
    await asyncio.sleep(0.05)  # a few tries fail
    layer.failing = False
    async with processes(layer, 1) as (one,):
        await layer.until("joined", 2)
        one.relay.publish({RUN: 1})
        assert await late.hears() == {RUN: 1}
    await late.relay.close()


async def test_a_listener_joins_again_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """The layer forgets who joined a day ago."""
    monkeypatch.setattr(hints, "REJOIN_SECONDS", 0.02)
    layer = FakeLayer()
    async with processes(layer, 1):
        await layer.until("joined", 4)
        assert len(layer.members[hints.GROUP]) == 1


async def test_a_failing_layer_is_complained_of_once(caplog: pytest.LogCaptureFixture) -> None:
    layer = FakeLayer()
    layer.failing = True
    process = Process(layer)
    process.relay.start()
    await asyncio.sleep(0.1)  # ten tries
    await process.relay.close()
    assert [record.name for record in caplog.records] == ["agents.ledger.hints"]


async def test_closing_does_not_wait_for_a_layer_that_hangs() -> None:
    layer = FakeLayer()
    layer.gate.clear()
    process = Process(layer)
    process.relay.start()
    process.relay.publish({RUN: 1})
    await layer.until("joined", 1)
    async with asyncio.timeout(PATIENCE):
        await process.relay.close()
    assert layer.sent == []  # it hung until the end
