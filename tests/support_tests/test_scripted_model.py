"""The ChatModel in process."""

import asyncio
from contextlib import aclosing
from typing import Literal

import pytest

from agents.core.messages import (
    Finished,
    ModelError,
    ModelEvent,
    ModelRequest,
    RawCall,
    ReasoningDelta,
    TextDelta,
    TokenUsage,
)
from agents.core.ports import ChatModel, ModelStream
from tests.support.script import Call, Fault, Reply, call, say
from tests.support.scripted_model import Hold, Item, Pause, ScriptedModel
from tests.support.timing import PATIENCE
from tests.support.virtual import VirtualDeadlock, run_virtual, virtual_time


def request(tool_choice: Literal["auto", "none"] = "auto") -> ModelRequest:
    return ModelRequest([{"role": "user", "content": "?"}], (), tool_choice, 100, 60.0)


async def events(model: ChatModel) -> list[ModelEvent]:
    return [event async for event in model.stream(request())]


async def read(stream: ModelStream, seen: list[ModelEvent]) -> None:
    async for event in stream:
        seen.append(event)


async def test_events_are_played_as_written() -> None:
    script: list[Item] = [ReasoningDelta("hm"), TextDelta("so"), Finished(finish_reason="stop")]
    assert await events(ScriptedModel([script])) == script


async def test_a_reply_becomes_events() -> None:
    reply = Reply(
        thinking="hm", text="a b", calls=(Call("look", {"p": 1}),), usage=TokenUsage(7, 3)
    )
    wanted = (RawCall("call_1_0", "look", '{"p": 1}'),)
    assert await events(ScriptedModel([reply])) == [
        ReasoningDelta("hm"),
        TextDelta("a "),
        TextDelta("b"),
        Finished(wanted, "tool_calls", TokenUsage(7, 3)),
    ]


async def test_usage_is_estimated_from_the_request() -> None:
    last = (await events(ScriptedModel([say("x" * 40)])))[-1]
    assert isinstance(last, Finished)
    assert last.usage is not None
    assert last.usage.completion_tokens == 10
    assert last.usage.prompt_tokens > 5


async def test_an_exception_is_raised_where_it_stands() -> None:
    model = ScriptedModel([ModelError("at once"), [TextDelta("a"), ModelError("later")]])
    with pytest.raises(ModelError, match="at once"):
        await events(model)
    seen: list[ModelEvent] = []
    with pytest.raises(ModelError, match="later"):
        await read(model.stream(request()), seen)
    assert seen == [TextDelta("a")]
    assert (model.open, model.aborted) == (0, 0)


@virtual_time
async def test_pauses_and_delays_take_time() -> None:
    model = ScriptedModel([[Pause(50), Finished()], say("a b", delay=5, piece_delay=1)])
    await events(model)
    await events(model)
    assert asyncio.get_running_loop().time() == 57


async def test_a_stream_can_wait_for_an_event() -> None:
    gate = asyncio.Event()
    reading = asyncio.create_task(events(ScriptedModel([[gate, Finished()]])))
    await asyncio.sleep(0)
    assert not reading.done()
    gate.set()
    assert await reading == [Finished()]


async def test_a_fault_is_a_model_error_after_so_many_events() -> None:
    model = ScriptedModel([say("a b c", fault=Fault("half_close", after=2))])
    seen: list[ModelEvent] = []
    with pytest.raises(ModelError, match="half_close"):
        await read(model.stream(request()), seen)
    assert seen == [TextDelta("a "), TextDelta("b ")]


def test_a_hang_never_ends() -> None:
    with pytest.raises(VirtualDeadlock):
        run_virtual(events(ScriptedModel([Reply(fault=Fault("hang"))])))


async def test_text_held_back_comes_with_the_next_event() -> None:
    model = ScriptedModel([[TextDelta("a"), Hold("b"), Hold("c"), Finished()]])
    held = [TextDelta("a"), TextDelta("b"), TextDelta("c"), Finished()]
    assert await events(model) == held


@virtual_time
async def test_text_held_back_is_found_when_reading_stops() -> None:
    model = ScriptedModel([[TextDelta("a"), Hold("b"), Pause(100), Finished()]])
    stream = model.stream(request())
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(read(stream, []), PATIENCE)
    await stream.aclose()
    assert stream.undelivered() == (TextDelta("b"),)
    assert model.aborted == 1


async def test_a_closed_stream_has_no_more_events() -> None:
    model = ScriptedModel([say("a b c")])
    async with aclosing(model.stream(request())) as stream:
        assert await anext(aiter(stream)) == TextDelta("a ")
        assert model.open == 1
    with pytest.raises(StopAsyncIteration):
        await anext(stream)
    assert (model.open, model.aborted) == (0, 1)


async def test_closing_a_finished_stream_is_harmless() -> None:
    model = ScriptedModel([say("a")])
    async with aclosing(model.stream(request())) as stream:
        assert len([event async for event in stream]) == 2
    assert (model.open, model.aborted) == (0, 0)


async def test_a_stream_is_iterated_once() -> None:
    stream: ModelStream = ScriptedModel([say("a")]).stream(request())
    aiter(stream)
    with pytest.raises(AssertionError, match="once"):
        aiter(stream)


async def test_a_step_can_look_at_the_request() -> None:
    def step(asked: ModelRequest) -> Reply:
        return say("final") if asked.tool_choice == "none" else call("look")

    model = ScriptedModel([], then=step)
    assert TextDelta("final") in [event async for event in model.stream(request("none"))]
    assert TextDelta("final") not in await events(model)
    assert [asked.tool_choice for asked in model.requests] == ["none", "auto"]


async def test_an_unexpected_request_fails() -> None:
    with pytest.raises(AssertionError, match="unexpected request 1"):
        ScriptedModel([]).stream(request())


def test_a_step_nobody_asked_for_fails() -> None:
    with pytest.raises(AssertionError, match="1 unused steps"), ScriptedModel([say("a")]):
        pass


def test_an_error_in_the_block_is_not_hidden_by_unused_steps() -> None:
    with pytest.raises(KeyError), ScriptedModel([say("a")]):
        raise KeyError
