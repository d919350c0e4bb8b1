"""Text is read in sips, over real sockets: fewer reads, and nothing that anybody would notice."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from anyio import BrokenResourceError, ClosedResourceError

from agents.core.clock import LoopClock
from agents.core.messages import Finished, ModelRequest, ReasoningDelta, TextDelta
from agents.llm.client import OpenAIChatModel, build_http_client
from agents.llm.transport import pacing
from agents.llm.transport.pacing import PacedStream
from tests.support.certificates import certified
from tests.support.endpoint import ScriptedEndpoint
from tests.support.script import Script, call, say

WORDS = "one two three four five six seven eight nine ten eleven twelve"
REQUEST = ModelRequest(({"role": "user", "content": "?"},), (), "auto", 1_000, 1e9)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What every read of the network brought."""
    found: list[bytes] = []
    take: Callable[[PacedStream, int], bytes | None] = PacedStream._receive_now

    def counted(self: PacedStream, max_bytes: int) -> bytes | None:
        if (data := take(self, max_bytes)) is not None:
            found.append(data)
        return data

    monkeypatch.setattr(PacedStream, "_receive_now", counted)
    return found


@pytest.fixture
def rests(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How often a connection rested; each time until more has been written."""
    found: list[float] = []

    def until_next_read() -> float:
        found.append(0.05)
        return found[-1]

    monkeypatch.setattr(pacing, "_seconds_to_next_read", until_next_read)
    return found


async def events_of(endpoint: ScriptedEndpoint, client: httpx.AsyncClient) -> list[object]:
    model = OpenAIChatModel(client, endpoint.base_url, "m", clock=LoopClock())
    stream = model.stream(REQUEST)
    return [event async for event in stream]


async def test_what_is_written_while_a_connection_rests_comes_in_one_read(
    reads: list[bytes], rests: list[float]
) -> None:
    words = say(WORDS, pieces=60, piece_delay=0.002)
    async with ScriptedEndpoint(Script([words])) as endpoint, build_http_client() as client:
        events = await events_of(endpoint, client)
    texts = [event.text for event in events if isinstance(event, TextDelta)]
    assert "".join(texts) == WORDS
    assert rests
    assert len(reads) < 30


async def test_records_of_tls_are_gathered_too(
    rests: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each piece is a record of its own: resting above TLS would read one for every rest."""
    tls, trusted = certified(tmp_path)
    trusting = ssl.create_default_context(cafile=trusted)
    monkeypatch.setattr("agents.llm.client._load_ssl_context", lambda: trusting)
    words = say(WORDS, pieces=60, piece_delay=0.002)
    async with ScriptedEndpoint(Script([words]), tls) as endpoint, build_http_client() as client:
        events = await events_of(endpoint, client)
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == WORDS
    assert 0 < len(rests) < 30


async def test_the_first_text_is_not_waited_for(rests: list[float]) -> None:
    async with ScriptedEndpoint(Script([say("Yes.")])) as endpoint, build_http_client() as client:
        model = OpenAIChatModel(client, endpoint.base_url, "m", clock=LoopClock())
        stream = model.stream(REQUEST)
        async for event in stream:
            if isinstance(event, TextDelta | ReasoningDelta):
                assert rests == []
                break
        await stream.aclose()


async def test_calls_are_not_waited_for(rests: list[float]) -> None:
    asks = call("vault_read", path="people.md")
    async with ScriptedEndpoint(Script([asks])) as endpoint, build_http_client() as client:
        events = await events_of(endpoint, client)
    assert isinstance(events[-1], Finished)
    assert rests == []


async def test_a_flood_is_read_without_a_rest(reads: list[bytes], rests: list[float]) -> None:
    text = "word " * 40_000
    async with (
        ScriptedEndpoint(Script([say(text, pieces=4_000)])) as endpoint,
        build_http_client() as client,
    ):
        events = await events_of(endpoint, client)
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == text
    assert len(rests) < len(reads) / 2


async def test_the_next_request_over_a_connection_that_rested_is_not_held_up(
    rests: list[float],
) -> None:
    turns = [say(WORDS, pieces=6, piece_delay=0.002), call("vault_list")]
    async with ScriptedEndpoint(Script(turns)) as endpoint, build_http_client() as client:
        await events_of(endpoint, client)
        rested = len(rests)
        await events_of(endpoint, client)
        assert len(endpoint.connections) == 1
    assert rested
    assert len(rests) == rested


async def test_giving_up_does_not_wait_for_the_end_of_a_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pacing, "_seconds_to_next_read", lambda: 600.0)
    words = say(WORDS, pieces=6, piece_delay=0.002)
    async with ScriptedEndpoint(Script([words])) as endpoint, build_http_client() as client:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await events_of(endpoint, client)


@pytest.mark.parametrize("host", ["a..b", "x" * 64 + ".example"])
async def test_a_name_that_cannot_be_one_is_a_failed_connection(host: str) -> None:
    async with build_http_client() as client:
        with pytest.raises(httpx.ConnectError):
            await client.get(f"http://{host}/")


async def test_whoever_reads_hears_at_once_that_the_connection_was_closed() -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    sips = PacedStream(ours)
    reading = asyncio.create_task(sips.receive())
    await asyncio.sleep(0)
    await sips.aclose()
    with pytest.raises((BrokenResourceError, ClosedResourceError)):
        await reading
    theirs.close()
