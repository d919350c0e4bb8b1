"""Fake tools: each behaves, or misbehaves, as its name says."""

import asyncio

import pytest

from agents.core.messages import ToolCall, ToolOutcome
from agents.core.ports import ToolContext, ToolRunner
from tests.support.tools import (
    Behaviour,
    FakeTools,
    blocks_a_thread,
    fails,
    hangs,
    raises,
    refuses,
    returns,
    slow,
    swallows_cancellation,
    tool_context,
    with_context,
)
from tests.support.virtual import virtual_time


def now() -> float:
    return asyncio.get_running_loop().time()


async def run(tools: FakeTools, name: str = "t", **arguments: object) -> ToolOutcome:
    return await tools.run(ToolCall("c", name, arguments), tool_context(user_id="u"))


async def run_for(seconds: float, tools: FakeTools) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(seconds):
            await run(tools)


async def double(x: int) -> int:
    await asyncio.sleep(0)
    return 2 * x


def test_fake_tools_are_a_tool_runner() -> None:
    tools = FakeTools({"a": returns("x"), "b": returns("y", writes=True), "c": str}, writes={"c"})
    assert isinstance(tools, ToolRunner)
    assert [schema["function"]["name"] for schema in tools.schemas()] == ["a", "b", "c"]
    assert [tools.writes(name) for name in ("a", "b", "c", "unknown")] == [
        False,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("behaviour", "outcome"),
    [
        (returns("x"), ToolOutcome(ok=True, content="x")),
        (fails("no"), ToolOutcome(ok=False, content="no")),
        (refuses("no"), ToolOutcome(ok=False, content="no", refused=True)),
    ],
)
async def test_a_fixed_outcome(behaviour: Behaviour, outcome: ToolOutcome) -> None:
    assert await run(FakeTools({"t": behaviour})) == outcome


async def test_plain_functions_take_the_arguments() -> None:
    tools = FakeTools({"plain": lambda x: f"got {x}", "later": double})
    assert (await run(tools, "plain", x=1)).content == "got 1"
    assert (await run(tools, "later", x=4)).content == "8"
    assert [call.name for call in tools.calls] == ["plain", "later"]


async def test_a_plain_function_that_raises_is_a_failed_outcome() -> None:
    outcome = await run(FakeTools({"t": lambda: 1 / 0}))
    assert outcome == ToolOutcome(ok=False, content="ZeroDivisionError: division by zero")


async def test_raises_breaks_the_port_on_purpose() -> None:
    tools = FakeTools({"t": raises(KeyError("x"))})
    with pytest.raises(KeyError):
        await run(tools)
    assert (tools.started, tools.finished, tools.in_flight) == (1, 0, 0)


async def test_an_unknown_tool_fails() -> None:
    assert await run(FakeTools({})) == ToolOutcome(ok=False, content="There is no tool 't'.")


async def test_a_tool_may_see_its_context() -> None:
    async def who(call: ToolCall, context: ToolContext) -> str:
        return context.user_id + call.name

    assert (await run(FakeTools({"t": with_context(who)}))).content == "ut"


@virtual_time
async def test_calls_in_flight_are_counted() -> None:
    tools = FakeTools({"t": slow(5)})
    await asyncio.gather(*[run(tools) for _ in range(3)])
    await run(tools)
    assert (tools.max_in_flight, tools.in_flight, tools.finished) == (3, 0, 4)
    assert now() == 10


@virtual_time
async def test_a_hanging_tool_can_be_cancelled() -> None:
    tools = FakeTools({"t": hangs()})
    await run_for(100, tools)
    assert (tools.started, tools.finished, tools.cancelled) == (1, 0, 1)
    assert now() == 100


@virtual_time
async def test_a_tool_that_swallows_cancellation_takes_its_time() -> None:
    tools = FakeTools({"t": swallows_cancellation(50)})
    running = asyncio.create_task(run(tools))
    for _ in range(3):
        await asyncio.sleep(1)
        running.cancel()
    assert (await running).ok
    assert (now(), tools.cancelled, tools.finished) == (50, 3, 1)


@virtual_time
async def test_a_blocked_thread_can_be_abandoned_and_is_released_at_the_end() -> None:
    with FakeTools({"t": blocks_a_thread()}) as tools:
        await run_for(100, tools)
        assert now() == 100
        assert tools.cancelled == 1
        assert not tools.released.is_set()
    assert tools.released.is_set()


@virtual_time
async def test_a_blocked_thread_ends_when_it_is_released() -> None:
    tools = FakeTools({"t": blocks_a_thread()})
    running = asyncio.create_task(run(tools))
    await asyncio.sleep(10)
    tools.release()
    assert (await running).content == "released"
