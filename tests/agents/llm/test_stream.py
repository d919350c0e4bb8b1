"""Retries, ends, and leaving early, through the real client."""

import asyncio
from contextlib import aclosing
from email.utils import formatdate

import httpx
import pytest

from agents.core.messages import Finished, ReasoningDelta, Retrying, TextDelta
from agents.llm.errors import EndpointError
from agents.llm.stream import DRAIN_SECONDS

from .wire import (
    DONE,
    KEY,
    STOP,
    USAGE,
    MemoryEndpoint,
    Piece,
    Reply,
    StillClock,
    answering,
    ask,
    collect,
    delta,
    failure,
    keeps_secrets,
    model_at,
    refusing,
    request,
    text,
)


async def test_retries_wait_longer_each_time_and_say_why() -> None:
    clock = StillClock()
    endpoint = MemoryEndpoint(refusing(503), refusing(429), answering(text("a")))
    events = await collect(model_at(endpoint, clock).stream(request()))
    waits = [event for event in events if isinstance(event, Retrying)]
    assert [(event.attempt, event.wait) for event in waits] == [(1, 0.5), (2, 1.0)]
    assert "overloaded" in waits[0].message
    assert clock.slept == [0.5, 1.0]


@pytest.mark.parametrize("as_date", [False, True])
async def test_retry_after_is_honoured(as_date: bool) -> None:
    clock = StillClock()
    value = formatdate(clock.time() + 9, usegmt=True) if as_date else "9"
    endpoint = MemoryEndpoint(refusing(429, retry_after=value), answering(text("a")))
    await collect(model_at(endpoint, clock).stream(request()))
    assert 9 <= clock.slept[0] < 10


async def test_a_retry_after_the_deadline_is_given_up_at_once() -> None:
    clock = StillClock()
    error = await failure(MemoryEndpoint(refusing(429, retry_after="5000")), clock)
    assert (error.code, clock.slept) == ("rate_limited", [])
    assert "longer than this run has left" in str(error)


async def test_a_host_that_cannot_be_reached_is_named_without_its_credentials() -> None:
    down = httpx.ConnectError("down")
    model = model_at(MemoryEndpoint(down, down, down), base_url=f"http://me:{KEY}@down.test:99/v1")
    with pytest.raises(EndpointError, match=r"Cannot connect to down\.test:99\.") as raised:
        await collect(model.stream(request()))
    assert keeps_secrets(raised.value)


@pytest.mark.parametrize(
    "base_url", ["", "models.test/v1", "ftp://models.test", "http://x:y", "http://"]
)
async def test_a_base_url_that_is_none_is_told_before_anything_is_sent(base_url: str) -> None:
    endpoint = MemoryEndpoint()
    with pytest.raises(EndpointError, match="should end in /v1") as raised:
        await ask(endpoint, base_url=base_url)
    assert (raised.value.code, endpoint.requests) == ("bad_address", [])


@pytest.mark.parametrize("key", ["sk-\nx", "sk-é"])
async def test_a_key_that_cannot_be_sent_is_refused_here(key: str) -> None:
    with pytest.raises(EndpointError, match="Check the key") as raised:
        await ask(MemoryEndpoint(), api_key=key)
    assert key not in str(raised.value)


# -- after the first content ----------------------------------------------------------------------


async def test_a_piece_of_a_call_is_content_too() -> None:
    call = delta(tool_calls=[{"index": 0, "id": "c", "function": {"name": "x", "arguments": "{"}}])
    endpoint = MemoryEndpoint(Reply([call]))
    assert (await failure(endpoint)).code == "broken_stream"
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("end", [[], [httpx.ReadError("reset")], [b"data: \xff\n\n"], [b"data: {"]])
async def test_a_missing_done_is_forgiven_after_a_finish_reason(end: list[Piece]) -> None:
    endpoint = MemoryEndpoint(Reply([text("a"), STOP, *end]))
    assert await ask(endpoint) == [TextDelta("a"), Finished((), "stop")]


async def test_usage_alone_is_an_end() -> None:
    assert isinstance((await ask(MemoryEndpoint(Reply([text("a"), USAGE]))))[-1], Finished)


# -- leaving early --------------------------------------------------------------------------------


async def test_closing_early_closes_the_response() -> None:
    reply = Reply([text("a"), text("b")], hangs=True)
    stream = model_at(MemoryEndpoint(reply)).stream(request())
    async for event in stream:
        assert event == TextDelta("a")
        break
    await stream.aclose()
    assert reply.closed
    assert stream.undelivered() == []
    await stream.aclose()


async def test_cancelling_closes_the_response() -> None:
    reply = Reply([text("a")], hangs=True)
    stream = model_at(MemoryEndpoint(reply)).stream(request())
    seen = asyncio.Event()

    async def read() -> None:
        async for _ in stream:
            seen.set()

    task = asyncio.create_task(read())
    await seen.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert reply.closed


async def test_what_was_held_back_can_be_had_after_leaving_early() -> None:
    reply = Reply([delta(reasoning="I vault"), text("no")], hangs=True)
    stream = model_at(MemoryEndpoint(reply)).stream(request())
    async for event in stream:
        assert event == ReasoningDelta("I ")
        break
    await stream.aclose()
    assert stream.undelivered() == [ReasoningDelta("vault")]
    assert stream.undelivered() == []


async def test_events_of_a_read_that_were_not_taken_can_be_had_after_leaving_early() -> None:
    reply = Reply([delta(reasoning="hm") + text("yes <tool_call>")], hangs=True)
    stream = model_at(MemoryEndpoint(reply)).stream(request())
    async for event in stream:
        assert event == ReasoningDelta("hm")
        break
    assert stream.undelivered() == [TextDelta("yes "), TextDelta("<tool_call>")]
    await stream.aclose()


async def test_leaving_during_the_wait_for_a_retry_asks_nothing_more() -> None:
    endpoint = MemoryEndpoint(refusing(503))
    stream = model_at(endpoint).stream(request())
    async with aclosing(stream):
        async for event in stream:
            assert isinstance(event, Retrying)
            break
    assert len(endpoint.requests) == 1


async def test_a_server_that_does_not_hang_up_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agents.llm.stream.DRAIN_SECONDS", 0.0)
    reply = Reply([text("a"), STOP, DONE], hangs=True)
    assert await ask(MemoryEndpoint(reply)) == [TextDelta("a"), Finished((), "stop")]
    assert reply.closed
    assert DRAIN_SECONDS < 0.5
