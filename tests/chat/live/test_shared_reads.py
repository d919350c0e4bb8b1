"""What the pages of one person share: a read for all who wait, a newer one for who comes later."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest

from agents.runtime import Runtime
from chat.live import shared_reads
from chat.live.follower import ConversationFollower
from chat.models import Conversation
from tests.chat.page_client import Chat, Tab, Valve, html_of
from tests.support.dom import Dom
from tests.support.script import say

TABS = 30


@pytest.fixture(autouse=True)
async def nothing_is_left() -> AsyncIterator[None]:
    yield
    assert shared_reads._waiting == {}
    assert len(shared_reads._lanes) == 0


class Gate:
    """A runtime whose reads begin at once and end when they are let."""

    def __init__(self) -> None:
        self.begun = 0
        self.may_end = asyncio.Event()

    async def run_db(self, work: Callable[[], Any]) -> Any:
        self.begun += 1
        await self.may_end.wait()
        return work()

    def read(self, what: str, work: Callable[[], Any], person: int = 1) -> "asyncio.Task[Any]":
        reading = shared_reads.read(cast(Runtime, self), person, what, work)
        return asyncio.create_task(reading)


async def run_others() -> None:
    """Let every other task come to where it waits."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_who_asks_before_a_read_begins_shares_it() -> None:
    gate, reads = Gate(), iter(range(100))
    asked = [gate.read("talk", lambda: next(reads)) for _ in range(TABS)]
    gate.may_end.set()
    assert await asyncio.gather(*asked) == [0] * TABS


async def test_who_asks_after_it_has_begun_gets_a_newer_one() -> None:
    gate, reads = Gate(), iter(range(100))
    first = gate.read("talk", lambda: next(reads))
    await run_others()
    later = [gate.read("talk", lambda: next(reads)) for _ in range(TABS)]
    await run_others()
    assert gate.begun == 1
    gate.may_end.set()
    assert await first == 0
    assert await asyncio.gather(*later) == [1] * TABS


async def test_one_person_reads_one_thing_at_a_time_and_others_do_not_wait() -> None:
    gate = Gate()
    mine = [gate.read(what, lambda: "mine") for what in ("talk", "another", "third")]
    await run_others()
    assert gate.begun == 1
    other = gate.read("talk", lambda: "other", person=2)
    await run_others()
    assert gate.begun == 2
    gate.may_end.set()
    assert await asyncio.gather(*mine, other) == ["mine", "mine", "mine", "other"]


async def test_an_error_is_told_to_all_and_the_next_one_asks_again() -> None:
    gate = Gate()
    gate.may_end.set()
    failed = [gate.read("talk", lambda: 1 / 0) for _ in range(3)]
    ends = await asyncio.gather(*failed, return_exceptions=True)
    assert [type(end) for end in ends] == [ZeroDivisionError] * 3
    assert await gate.read("talk", lambda: "found") == "found"


async def test_a_page_that_leaves_takes_nothing_from_the_others() -> None:
    gate = Gate()
    leaving, staying = (gate.read("talk", lambda: "found") for _ in range(2))
    await run_others()
    leaving.cancel()
    gate.may_end.set()
    assert await staying == "found"
    assert leaving.cancelled()


async def test_a_page_that_leaves_alone_leaves_nothing_behind() -> None:
    gate = Gate()
    asked = [gate.read(what, lambda: 1 / 0) for what in ("talk", "another")]
    await run_others()
    for one in asked:
        one.cancel()
    gate.may_end.set()
    await asyncio.wait(asked)
    await run_others()  # the fixture looks


@pytest.mark.django_db(transaction=True)
async def test_many_tabs_of_one_conversation_look_and_render_as_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []

    def count(name: str) -> None:
        real = getattr(ConversationFollower, name)

        def counted(self: ConversationFollower, *args: Any) -> Any:
            done.append(name)
            return real(self, *args)

        monkeypatch.setattr(ConversationFollower, name, counted)

    valve = Valve("Two")
    async with Chat(say("One."), valve.items()) as chat:
        run = await chat.talked()
        html = await html_of(chat.user, f"/c/{run.conversation_key}/")
        tabs = [Tab(chat, run, Dom(html)) for _ in range(12)]
        for tab in tabs:
            await tab.connect()
            await tab.until(lambda tab=tab: tab.frames)  # type: ignore[misc]
        for name in ("_load_snapshot", "_render"):
            count(name)
        assert run.conversation_key is not None
        await chat.ask(run.conversation_key)
        valve.open()
        for tab in tabs:
            await tab.shows("Two")
            await tab.is_ready()
        for tab in tabs[:2]:
            await tab.assert_as_reloaded()
    # The question and the end, each of which may come while somebody looks.
    assert 0 < done.count("_load_snapshot") <= 8
    assert 0 < done.count("_render") <= 8


@pytest.mark.django_db(transaction=True)
async def test_a_page_that_resumes_with_something_else_misleads_no_other() -> None:
    async def take(frame: str) -> None:
        raise AssertionError("nothing is sent")

    async with Chat(say("One."), say("Two.")) as chat:
        key = (await chat.talked(2)).conversation_key
        assert key is not None
        head = (await Conversation.objects.aget(pk=key)).head_id
        first, second = (ConversationFollower(chat.runtime, chat.user, key, take) for _ in range(2))
        looking = asyncio.create_task(first._look())
        await asyncio.sleep(0)  # it has asked, and nothing has been read yet
        await first.resume(head, [])
        shared = await second._look()
        assert shared is not None
        assert [row.run.question for row in shared.rows] == ["First?", "Second?"]
        assert await looking is shared
