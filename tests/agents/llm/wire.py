"""An endpoint in memory: says what it is told to, byte for byte, and keeps what it was asked."""

import asyncio
import json
import traceback
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from hypothesis import settings

from agents.core.messages import ModelEvent, ModelRequest, TextDelta
from agents.core.ports import Clock, ModelStream
from agents.llm.client import OpenAIChatModel, build_http_client
from agents.llm.errors import EndpointError

repeatable = settings(derandomize=True, deadline=None)
"""For property tests: the same on every run, and no haste."""

KEY = "sk-top-secret-0123456789"
SECRET = "raw-body-of-the-provider"
TOOLS = ({"type": "function", "function": {"name": "vault_search", "parameters": {}}},)
EVENT_STREAM = {"content-type": "text/event-stream; charset=utf-8"}
Piece = bytes | Exception


@dataclass
class Reply:
    """`body` pieces are sent one by one; an exception among them is raised there."""

    body: Sequence[Piece] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: EVENT_STREAM)
    hangs: bool = False
    closed: bool = False


class MemoryEndpoint(httpx.AsyncBaseTransport):
    def __init__(self, *replies: Reply | Exception) -> None:
        self.replies = list(replies)
        self.requests: list[httpx.Request] = []
        self.listed = 0
        """How often it was asked for its models."""
        self.models = Reply(status=404)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(request.content) for request in self.requests]

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            self.listed += 1
            return httpx.Response(self.models.status, stream=ReplyStream(self.models))
        self.requests.append(request)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return httpx.Response(reply.status, headers=reply.headers, stream=ReplyStream(reply))


class ReplyStream(httpx.AsyncByteStream):
    def __init__(self, reply: Reply) -> None:
        self.reply = reply

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.reply.body:
            if isinstance(piece, Exception):
                raise piece
            yield piece
        if self.reply.hangs:
            await asyncio.Event().wait()

    async def aclose(self) -> None:
        self.reply.closed = True


class StillClock:
    """Stands still unless told; remembers what was slept."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def time(self) -> float:
        return self.now + 1_700_000_000

    def monotonic(self) -> float:
        return self.now

    def call_at(self, when: float, callback: object) -> Any:
        raise AssertionError("the client sets no timers")

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class Half:
    """Randomness that is none."""

    def random(self) -> float:
        return 0.5


def data(payload: object) -> bytes:
    """One event of a stream."""
    return b"data: " + json.dumps(payload).encode() + b"\n\n"


def delta(finish: str | None = None, **fields: object) -> bytes:
    return data({"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]})


def text(content: str) -> bytes:
    return delta(content=content)


STOP = delta("stop")
USAGE = data({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}})
DONE = b"data: [DONE]\n\n"


def answering(*pieces: Piece) -> Reply:
    """A good answer around the given pieces."""
    return Reply([*pieces, STOP, USAGE, DONE])


def refusing(status: int, body: str = SECRET, **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply([body.encode()], status, {"content-type": "application/json", **named})


def model_at(
    endpoint: MemoryEndpoint, clock: StillClock | None = None, **model: Any
) -> OpenAIChatModel:
    clock = clock or StillClock()
    defaults = {"base_url": "https://models.test/v1", "model": "gpt-4o", "api_key": KEY}
    typed: Clock = clock
    return OpenAIChatModel(
        build_http_client(endpoint), clock=typed, sleep=clock.sleep, rng=Half(), **defaults | model
    )


def request(**fields: Any) -> ModelRequest:
    defaults: dict[str, Any] = {
        "messages": [{"role": "user", "content": "hello"}],
        "tools": TOOLS,
        "tool_choice": "auto",
        "max_tokens": 500,
        "deadline": 2000.0,
    }
    return ModelRequest(**defaults | fields)


async def collect(stream: ModelStream) -> list[ModelEvent]:
    return [event async for event in stream]


async def ask(endpoint: MemoryEndpoint, **model: Any) -> list[ModelEvent]:
    return await collect(model_at(endpoint, **model).stream(request()))


def joined(events: Sequence[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def read_into(events: list[ModelEvent], stream: ModelStream) -> None:
    async for event in stream:
        events.append(event)


def keeps_secrets(error: EndpointError) -> bool:
    told = "".join(traceback.format_exception(error)) + repr(error) + str(error)
    return error.__context__ is None and KEY not in told and SECRET not in told


async def failure(endpoint: MemoryEndpoint, clock: StillClock | None = None) -> EndpointError:
    with pytest.raises(EndpointError) as raised:
        await collect(model_at(endpoint, clock).stream(request()))
    return raised.value
