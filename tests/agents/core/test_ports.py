"""Cancellation: once or many times, from anywhere."""

import asyncio
import threading

from agents.core.cancellation import Cancellation
from agents.core.loop.inbox import Inbox
from tests.support.timing import PATIENCE


def test_the_first_request_calls_everybody_and_the_second_nobody() -> None:
    cancellation, heard = Cancellation(), []
    cancellation.subscribe(lambda: heard.append("a"))
    cancellation.subscribe(lambda: heard.append("b"))
    requested = [cancellation.requested]
    cancellation.request()
    cancellation.request()
    requested.append(cancellation.requested)
    assert requested == [False, True]
    assert heard == ["a", "b"]


def test_who_subscribes_after_the_request_is_called_at_once() -> None:
    cancellation, heard = Cancellation(), []
    cancellation.request()
    cancellation.subscribe(lambda: heard.append("late"))
    assert heard == ["late"]


def test_who_unsubscribed_is_not_called() -> None:
    cancellation, heard = Cancellation(), []

    def hear() -> None:
        heard.append("no")

    cancellation.subscribe(hear)
    cancellation.unsubscribe(hear)
    cancellation.request()
    assert heard == []


def test_a_callback_may_unsubscribe_itself() -> None:
    cancellation, heard = Cancellation(), []

    def once() -> None:
        heard.append("once")
        cancellation.unsubscribe(once)

    cancellation.subscribe(once)
    cancellation.subscribe(lambda: heard.append("other"))
    cancellation.request()
    assert heard == ["once", "other"]


async def test_a_request_from_another_thread_wakes_a_waiting_run() -> None:
    """`Cancellation` says: from anywhere in the process. In real time, because threads are."""
    cancellation = Cancellation()
    box: Inbox[str] = Inbox(cancellation)
    reading = asyncio.create_task(box.get())
    await asyncio.sleep(0)
    overslept = asyncio.Event()
    alarm = asyncio.get_running_loop().call_later(PATIENCE, overslept.set)
    threading.Timer(0.05, cancellation.request).start()
    sleeping = asyncio.create_task(overslept.wait())
    await asyncio.wait([reading, sleeping], return_when=asyncio.FIRST_COMPLETED)
    alarm.cancel()
    sleeping.cancel()
    assert reading.done()
    assert not overslept.is_set(), "the loop slept on: nothing told it of the request"
