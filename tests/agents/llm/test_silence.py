"""One request cannot eat the run: an endpoint without a sign of life is given up.

Through the real loop and the real client, in virtual time; over real sockets, plain and TLS.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from agents.core.clock import LoopClock
from agents.core.messages import ModelEvent, ModelRequest, Retrying, TextDelta
from agents.llm.client import OpenAIChatModel, build_http_client
from agents.llm.errors import EndpointError
from tests.support.certificates import certified
from tests.support.endpoint import ScriptedEndpoint
from tests.support.runs import Ran, drive
from tests.support.script import Fault, Script, Step, say
from tests.support.tools import FakeTools
from tests.support.transport import ScriptedTransport
from tests.support.virtual import VirtualClock, virtual_time

from .wire import DONE, STOP, Half, read_into, text

NEVER = Fault("hang_before_headers")
SILENCE = 0.3
"""Seconds on real sockets."""
LONG = "long " * 800
"""Most of what an answer with it is."""


async def ran(*steps: Step, seconds: int = 120) -> Ran:
    """A run in virtual time against these steps."""
    clock = VirtualClock()
    async with ScriptedTransport(Script(steps)) as transport:
        model = OpenAIChatModel(
            httpx.AsyncClient(transport=transport),
            transport.base_url,
            "m",
            clock=clock,
            rng=Half(),
        )
        return await drive(model, FakeTools({}), clock=clock, config={"timeout_seconds": seconds})


def retries(found: Ran) -> list[tuple[float, str]]:
    """When each notice of a further try was given, in seconds of the run, and its words."""
    began = found.chunks[0].at
    return [(one.at - began, one.system_message) for one in found.notices("provider")]


@pytest.mark.parametrize(
    ("seconds", "silence"), [(120, 60), (240, 60), (360, 60), (480, 80), (600, 100)]
)
@virtual_time
async def test_a_request_without_a_byte_is_tried_again_after_a_minute_or_a_sixth_of_the_run(
    seconds: int, silence: float
) -> None:
    found = await ran(NEVER, say("There it is."), seconds=seconds)
    assert (found.reason, found.answer) == ("completed", "There it is.")
    ((at, message),) = retries(found)
    assert at == pytest.approx(silence)
    assert f"sent nothing for {silence} s" in message
    assert "Trying again in 0.5 s" in message
    assert found.seconds == pytest.approx(silence + 0.5)


@virtual_time
async def test_a_stream_that_begins_and_then_brings_nothing_is_tried_again_too() -> None:
    found = await ran(Fault("hang"), say("There it is."))
    assert (found.reason, found.answer) == ("completed", "There it is.")


@virtual_time
async def test_three_tries_without_a_byte_fail_for_good() -> None:
    found = await ran(NEVER, NEVER, NEVER, seconds=300)
    assert (found.reason, len(retries(found))) == ("provider_error", 2)
    assert found.record.error is not None
    assert "sent nothing for 60 s" in found.record.error.error
    assert found.seconds == pytest.approx(3 * 60 + 0.5 + 1.0)


@virtual_time
async def test_an_endpoint_that_sends_nothing_at_all_ends_at_the_deadline() -> None:
    found = await ran(NEVER, NEVER, seconds=120)
    assert (found.outcome, found.reason) == ("limited", "timeout")
    assert found.seconds == pytest.approx(120, abs=0.5)


@virtual_time
async def test_a_short_run_ends_by_its_own_time_not_by_a_failed_endpoint() -> None:
    found = await ran(NEVER, seconds=60)
    assert (found.outcome, found.reason) == ("limited", "timeout")
    assert found.seconds == pytest.approx(60, abs=0.5)


@virtual_time
async def test_after_content_a_silent_stream_is_broken_and_its_text_is_kept() -> None:
    found = await ran(say("Half of it, and", fault=Fault("hang", after=4)), seconds=300)
    assert (found.outcome, found.reason) == ("failed", "provider_error")
    assert found.answer == "Half of it, and"
    assert found.record.error is not None
    assert "in the middle of its answer" in found.record.error.error
    assert "nothing came for 60 s" in found.record.error.error
    assert found.seconds == pytest.approx(60)


@pytest.mark.parametrize("pause", [60.0, 59.0, 20.0])
@virtual_time
async def test_one_byte_a_minute_is_life_and_ends_at_the_deadline(pause: float) -> None:
    drips = say("slow", fault=Fault("drip", rate=1 / pause))
    found = await ran(drips, seconds=300)
    assert (found.outcome, found.reason) == ("limited", "timeout")
    assert retries(found) == []
    assert found.seconds == pytest.approx(300, abs=0.5)


@virtual_time
async def test_pauses_between_words_are_no_silence() -> None:
    found = await ran(say("one two three four", piece_delay=55.0), seconds=300)
    assert (found.reason, found.answer) == ("completed", "one two three four")


# -- real sockets ---------------------------------------------------------------------------------


PATIENT = 1.5
"""A silence that a busy machine does not make by itself between two bytes that are sent in time."""


def asking(silence: float = SILENCE) -> ModelRequest:
    question = ({"role": "user", "content": "?"},)
    return ModelRequest(question, (), "auto", 1_000, LoopClock().monotonic() + 60, silence)


async def events_of(
    base_url: str, client: httpx.AsyncClient, silence: float = SILENCE
) -> list[ModelEvent]:
    model = OpenAIChatModel(client, base_url, "m", clock=LoopClock())
    return [event async for event in model.stream(asking(silence))]


@pytest.mark.parametrize("fault", [NEVER, Fault("hang")])
async def test_silence_is_noticed_on_a_socket(fault: Fault) -> None:
    script = Script([fault, say("There it is.")])
    async with ScriptedEndpoint(script) as endpoint, build_http_client() as client:
        first, *rest = await events_of(endpoint.base_url, client)
    assert isinstance(first, Retrying)
    assert "sent nothing" in first.message
    assert "".join(e.text for e in rest if isinstance(e, TextDelta)) == "There it is."


async def test_silence_after_content_is_noticed_on_a_socket_that_rested() -> None:
    script = Script([say("one two three", piece_delay=0.02, fault=Fault("hang", after=3))])
    events: list[ModelEvent] = []
    async with ScriptedEndpoint(script) as endpoint, build_http_client() as client:
        model = OpenAIChatModel(client, endpoint.base_url, "m", clock=LoopClock())
        with pytest.raises(EndpointError) as raised:
            await read_into(events, model.stream(asking()))
    assert raised.value.code == "broken_stream"
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "one two three"


async def test_comments_keep_a_request_alive_on_a_socket() -> None:
    """Some endpoints send them while a model thinks."""
    comments = trickling(b": still here\n\n", pause=PATIENT / 10, times=12)
    async with comments as base_url, build_http_client() as client:
        assert TextDelta("at last") in await events_of(base_url, client, PATIENT)


async def test_a_record_of_tls_that_comes_in_pieces_keeps_a_request_alive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it can be read before it is whole."""
    tls, trusted = certified(tmp_path)
    trusting = ssl.create_default_context(cafile=trusted)
    monkeypatch.setattr("agents.llm.client._load_ssl_context", lambda: trusting)
    async with (
        ScriptedEndpoint(Script([say(LONG, pieces=1)]), tls) as endpoint,
        slowed(endpoint.base_url, pause=PATIENT / 10, pieces=12) as base_url,
        build_http_client() as client,
    ):
        events = await events_of(base_url, client, PATIENT)
    assert not any(isinstance(event, Retrying) for event in events)
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == LONG


Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(serve: Serve) -> AsyncIterator[int]:
    """A port of loopback whose connections have all ended at the end of the block."""
    serving: list[asyncio.Task[object] | None] = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.append(asyncio.current_task())
        await serve(reader, writer)
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(connected, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]
        await asyncio.gather(*filter(None, serving))


@asynccontextmanager
async def trickling(alive: bytes, *, pause: float, times: int) -> AsyncIterator[str]:
    """An endpoint that gives signs of life, then answers."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        for _ in range(times):
            await asyncio.sleep(pause)
            writer.write(alive)
        writer.write(text("at last") + STOP + DONE)

    async with listening(answer) as port:
        yield f"http://127.0.0.1:{port}/v1"


@asynccontextmanager
async def slowed(base_url: str, *, pause: float, pieces: int) -> AsyncIterator[str]:
    """The way to an endpoint on which the long part of its answer comes piece by piece."""
    target = httpx.URL(base_url)

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, requests = await asyncio.open_connection(target.host, target.port)
        await asyncio.gather(copy(reader, requests), copy(answers, writer, pause, pieces))
        requests.close()
        await requests.wait_closed()

    async with listening(forward) as port:
        yield f"https://{target.host}:{port}/v1"


async def copy(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    pause: float = 0.0,
    pieces: int = 1,
) -> None:
    while data := await reader.read(65_536):
        size = len(data) if len(data) < len(LONG) else len(data) // pieces + 1
        for start in range(0, len(data), size):
            writer.write(data[start : start + size])
            if size < len(data):
                await asyncio.sleep(pause)
    writer.close()
