"""Tools that block run in threads, which are abandoned, counted and capped."""

import asyncio
import threading
from contextvars import ContextVar

import pytest

from agents.core.messages import ToolOutcome
from agents.tools.blocking import ToolThreads
from agents.tools.definition import Tool, ToolFailed, define
from agents.tools.executor import ToolExecutor
from tests.agents.tools.factories import call, context

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
        release.wait(10)
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
        release.wait(10)
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
        release.wait(10)
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
    threads = ToolThreads()

    def give() -> str:
        """Block."""
        release.wait(10)
        ended.set()
        return "late"

    async def program() -> None:
        await given(define(give, timeout=0.01), threads=threads)

    asyncio.run(program())
    release.set()
    assert ended.wait(5)
    for thread in threading.enumerate():
        if thread.name == "oracle-tool":
            thread.join(5)
    assert threads.abandoned == 0
