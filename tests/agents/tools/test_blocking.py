"""Tools that block run in threads, which are abandoned, counted and capped."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple

import pytest
from django.db import DatabaseError, OperationalError, connection, connections, transaction

from agents.core.messages import ToolOutcome
from agents.tools.blocking import ToolThreads
from agents.tools.definition import Tool, ToolFailed, define
from agents.tools.executor import ToolExecutor
from tests.agents.tools.factories import call, context
from tests.support.timing import PATIENCE

who: ContextVar[str] = ContextVar("who")


async def given(tool: Tool, threads: ToolThreads) -> ToolOutcome:
    return await ToolExecutor([tool], threads=threads).run(call("give"), context())


async def test_a_plain_function_runs_in_a_thread_with_its_context() -> None:
    def give() -> str:
        """Give it."""
        return f"{who.get()} in {threading.current_thread().name}"

    who.set("ada")
    threads = ToolThreads()
    assert (await given(define(give), threads=threads)).content == "ada in oracle-tool"
    assert threads.abandoned == 0


async def test_what_a_thread_raises_is_a_failure() -> None:
    def give() -> str:
        """Give it."""
        raise ToolFailed("No.")

    def stops() -> str:
        """Stop it."""
        raise StopIteration

    def exits() -> str:
        """Leave."""
        raise SystemExit

    executor = ToolExecutor([define(give), define(stops), define(exits)], threads=ToolThreads())
    assert (await executor.run(call("give"), context())).content == "No."
    for name in ("stops", "exits"):
        assert not (await executor.run(call(name), context())).ok


async def test_a_blocked_thread_is_abandoned_at_its_time_and_counted() -> None:
    release = threading.Event()

    def give() -> str:
        """Block."""
        release.wait(PATIENCE)
        return "late"

    threads = ToolThreads(max_abandoned=2)
    outcome = await given(define(give, timeout=0.02), threads=threads)
    assert "took longer than 0.02 s" in outcome.content
    assert threads.abandoned == 1
    release.set()
    for _ in range(200):
        if not threads.abandoned:
            break
        await asyncio.sleep(0.005)
    assert threads.abandoned == 0


async def test_threads_that_do_not_come_back_are_capped() -> None:
    release = threading.Event()

    def give() -> str:
        """Block."""
        release.wait(PATIENCE)
        return "late"

    threads = ToolThreads(max_abandoned=3)
    executor = ToolExecutor([define(give, timeout=0.02)], threads=threads)
    try:
        first = await asyncio.gather(*[executor.run(call("give"), context()) for _ in range(3)])
        assert all("took longer" in outcome.content for outcome in first)
        assert threads.abandoned == 3  # all were started while none was abandoned
        later = await executor.run(call("give"), context())
        assert "3 calls of blocking tools have not come back" in later.content
        assert not later.ok
    finally:
        release.set()


async def test_calls_that_are_waited_for_do_not_count() -> None:
    release = threading.Event()

    def give() -> str:
        """Block for a moment."""
        release.wait(PATIENCE)
        return "given"

    threads = ToolThreads(max_abandoned=1)
    executor = ToolExecutor([define(give)], threads=threads)
    running = asyncio.gather(*[executor.run(call("give"), context()) for _ in range(4)])
    await asyncio.sleep(0)
    release.set()
    assert [outcome.content for outcome in await running] == ["given"] * 4
    assert threads.abandoned == 0


async def test_a_thread_that_cannot_be_started_takes_no_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def give() -> str:
        """Give it."""
        return "given"

    def cannot(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    threads = ToolThreads(max_abandoned=1)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", cannot)
        assert not (await given(define(give), threads=threads)).ok
    assert threads.abandoned == 0
    assert (await given(define(give), threads=threads)).content == "given"


def test_a_thread_that_outlives_its_loop_harms_nobody() -> None:
    release, ended = threading.Event(), threading.Event()
    started: list[threading.Thread] = []
    threads = ToolThreads(idle_seconds=0)

    def give() -> str:
        """Block."""
        started.append(threading.current_thread())
        release.wait(PATIENCE)
        ended.set()
        return "late"

    async def program() -> None:
        await given(define(give, timeout=0.01), threads=threads)

    asyncio.run(program())
    release.set()
    assert ended.wait(PATIENCE)
    started[0].join(PATIENCE)
    assert not started[0].is_alive()
    assert threads.abandoned == 0


# -- threads that wait for the next call, with their connections ----------------------------------


class Used(NamedTuple):
    """In which thread a call was made, and over which connection."""

    thread: threading.Thread
    wrapper: Any
    opened: Any


def ask_database() -> Used:
    wrapper = connections["default"]
    with wrapper.cursor() as cursor:
        cursor.execute("SELECT 1")
    return Used(threading.current_thread(), wrapper, wrapper.connection)


def is_closed(used: Used) -> bool:
    try:
        used.opened.cursor().execute("SELECT 1")
    except used.wrapper.Database.Error:
        return True
    return False


@pytest.fixture
def threads(transactional_db: None) -> Iterator[ToolThreads]:
    """Threads that wait for as long as a test takes."""
    made = ToolThreads(idle_seconds=PATIENCE)
    yield made
    made.close_idle()


async def test_the_next_call_finds_the_thread_and_the_connection_of_the_last(
    threads: ToolThreads,
) -> None:
    assert await threads.run(ask_database) == await threads.run(ask_database)


async def test_what_a_call_set_in_its_context_is_not_there_for_the_next(
    threads: ToolThreads,
) -> None:
    def leave_name() -> threading.Thread:
        who.set("ada")
        return threading.current_thread()

    def find_name() -> tuple[threading.Thread, str]:
        return threading.current_thread(), who.get("nobody")

    left = await threads.run(leave_name)
    assert await threads.run(find_name) == (left, "nobody")


async def test_a_call_that_hangs_holds_up_no_other(threads: ToolThreads) -> None:
    release = threading.Event()
    hanging = asyncio.ensure_future(threads.run(partial(release.wait, PATIENCE)))
    await asyncio.sleep(0)
    first, second = await threads.run(ask_database), await threads.run(ask_database)
    assert first == second
    release.set()
    assert await hanging


def fail() -> None:
    ask_database()
    raise OperationalError("The server closed the connection.")


def hide_failure() -> None:
    with suppress(DatabaseError), connection.cursor() as cursor:
        cursor.execute("SELECT nothing FROM nowhere")


def leave_open() -> None:
    transaction.atomic().__enter__()


@pytest.mark.parametrize("misuse", [fail, hide_failure, leave_open])
async def test_a_connection_that_met_trouble_is_closed_and_not_used_again(
    threads: ToolThreads, misuse: Callable[[], None]
) -> None:
    before = await threads.run(ask_database)
    with suppress(OperationalError):
        await threads.run(misuse)
    after = await threads.run(ask_database)
    assert after.thread is not before.thread
    await asyncio.to_thread(before.thread.join, PATIENCE)
    assert is_closed(before)


async def test_a_thread_that_waits_in_vain_ends_and_closes_its_connection(
    transactional_db: None,
) -> None:
    used = await ToolThreads(idle_seconds=0.01).run(ask_database)
    await asyncio.to_thread(used.thread.join, PATIENCE)
    assert not used.thread.is_alive()
    assert is_closed(used)


async def test_no_more_threads_wait_than_a_few(threads: ToolThreads) -> None:
    together = threading.Barrier(threads.max_idle + 2)

    def meet() -> Used:
        together.wait(PATIENCE)
        return ask_database()

    async def meet_all() -> set[threading.Thread]:
        met = await asyncio.gather(*[threads.run(meet) for _ in range(together.parties)])
        return {used.thread for used in met}

    assert len(await meet_all() & await meet_all()) == threads.max_idle


async def test_closing_ends_the_threads_that_wait_and_their_connections(
    threads: ToolThreads,
) -> None:
    used = await threads.run(ask_database)
    await asyncio.to_thread(threads.close_idle)
    assert not used.thread.is_alive()
    assert is_closed(used)
    assert (await threads.run(ask_database)).thread is not used.thread


@pytest.mark.parametrize("idle_seconds", [0.0, 0.0001, 0.0005])
async def test_no_call_is_lost_to_a_thread_that_is_just_ending(idle_seconds: float) -> None:
    threads = ToolThreads(idle_seconds=idle_seconds)
    for number in range(100):
        assert await asyncio.wait_for(threads.run(partial(abs, -number)), PATIENCE) == number
