"""Where a run waits: nothing is lost, and wake-ups come first."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.core.cancellation import Cancellation
from agents.core.loop.inbox import CAPACITY, Inbox
from tests.support.virtual import run_virtual, virtual_time


def inbox(cancellation: Cancellation | None = None) -> Inbox[Any]:
    return Inbox(cancellation or Cancellation())


def now() -> float:
    return asyncio.get_running_loop().time()


# -- items ----------------------------------------------------------------------------------------


@virtual_time
async def test_items_come_in_the_order_they_were_put() -> None:
    box = inbox()
    for item in range(3):
        box.put(item)
    assert [await box.get() for _ in range(3)] == [0, 1, 2]


@virtual_time
async def test_a_waiting_reader_is_given_what_is_put_later() -> None:
    box = inbox()
    asyncio.get_running_loop().call_later(5, box.put, "late")
    assert await box.get() == "late"
    assert now() == 5


@virtual_time
async def test_what_was_not_read_can_be_taken() -> None:
    box = inbox()
    box.put(1)
    box.put(2)
    assert box.drain() == [1, 2]
    assert box.drain() == []


# -- wake-ups -------------------------------------------------------------------------------------


@virtual_time
async def test_a_wake_up_is_none_and_comes_before_items() -> None:
    box = inbox()
    box.put("item")
    box.wake()
    assert [await box.get(), await box.get()] == [None, "item"]


@virtual_time
async def test_several_wake_ups_before_a_look_are_one() -> None:
    box = inbox()
    box.wake()
    box.wake()
    box.put("item")
    assert [await box.get(), await box.get()] == [None, "item"]


@virtual_time
async def test_a_wake_up_reaches_a_waiting_reader() -> None:
    box = inbox()
    asyncio.get_running_loop().call_later(3, box.wake)
    assert await box.get() is None
    assert now() == 3


@virtual_time
async def test_a_wake_up_between_reads_is_not_lost() -> None:
    box = inbox()
    box.put("a")
    assert await box.get() == "a"
    box.wake()
    await asyncio.sleep(1)
    assert await box.get() is None


@virtual_time
async def test_cancellation_wakes_the_reader() -> None:
    cancellation = Cancellation()
    box = inbox(cancellation)
    asyncio.get_running_loop().call_later(2, cancellation.request)
    assert await box.get() is None
    assert now() == 2


@virtual_time
async def test_a_cancellation_from_before_wakes_at_once() -> None:
    cancellation = Cancellation()
    cancellation.request()
    assert await inbox(cancellation).get() is None


@virtual_time
async def test_a_closed_inbox_does_not_hear_of_a_cancellation() -> None:
    cancellation = Cancellation()
    box = inbox(cancellation)
    box.put("unread")
    box.close()
    cancellation.request()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(box.get(), 5)


# -- room -----------------------------------------------------------------------------------------


async def put_and_wait(box: Inbox[Any], item: Any) -> None:
    box.put(item)
    await box.wait_for_capacity()


@virtual_time
async def test_a_fast_writer_waits_for_a_slow_reader() -> None:
    box = inbox()
    put = 0

    async def write() -> None:
        nonlocal put
        for item in range(10 * CAPACITY):
            put += 1
            await put_and_wait(box, item)

    writer = asyncio.create_task(write())
    await asyncio.sleep(1)
    assert put == CAPACITY
    read = [await box.get() for _ in range(10 * CAPACITY)]
    await writer
    assert read == list(range(10 * CAPACITY))


@virtual_time
async def test_a_waiting_writer_is_let_go_when_everything_is_taken() -> None:
    box = inbox()
    for item in range(CAPACITY):
        box.put(item)
    writer = asyncio.create_task(put_and_wait(box, "last"))
    await asyncio.sleep(1)
    assert not writer.done()
    assert box.drain()[-1] == "last"
    await writer


@virtual_time
async def test_what_was_put_before_waiting_for_room_is_not_lost_when_the_writer_is_cancelled() -> (
    None
):
    box = inbox()
    for item in range(CAPACITY):
        box.put(item)
    first, second = (asyncio.create_task(put_and_wait(box, name)) for name in "ab")
    await asyncio.sleep(1)
    first.cancel()
    await asyncio.sleep(1)
    assert first.cancelled()
    read = [await box.get() for _ in range(CAPACITY + 2)]
    await second
    assert read[-2:] == ["a", "b"]


@virtual_time
async def test_there_is_room_while_few_items_wait() -> None:
    box = inbox()
    for item in range(CAPACITY - 1):
        box.put(item)
    await asyncio.wait_for(box.wait_for_capacity(), 1)
    assert len(box.drain()) == CAPACITY - 1


@virtual_time
async def test_a_writer_that_cannot_wait_is_never_held_up() -> None:
    box = inbox()
    for item in range(3 * CAPACITY):
        box.put(item)
    assert len(box.drain()) == 3 * CAPACITY


actions = st.lists(st.sampled_from(["put", "room", "wake", "pause", "cancel"]), max_size=60)


@given(actions, st.integers(0, 3))
def test_no_item_is_lost_whatever_happens_meanwhile(script: list[str], patience: int) -> None:
    async def program() -> None:
        cancellation = Cancellation()
        box = inbox(cancellation)
        written: list[int] = []

        async def write() -> None:
            for number, action in enumerate(script):
                if action == "put":
                    written.append(number)
                    box.put(number)
                elif action == "room":
                    await box.wait_for_capacity()
                elif action == "wake":
                    box.wake()
                elif action == "cancel":
                    cancellation.request()
                else:
                    await asyncio.sleep(1)

        writer = asyncio.create_task(write())
        read: list[int] = []
        wanted = script.count("put")
        while len(read) < wanted:
            item = await box.get()
            if item is not None:
                read.append(item)
            if len(read) % 4 < patience:
                await asyncio.sleep(1)
        await writer
        assert read == written

    run_virtual(program())
