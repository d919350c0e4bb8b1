"""The ChatModel port in process, without HTTP.

model = ScriptedModel([call("look", page=1), [TextDelta("Hi"), Pause(3), Finished()]])
...
model.assert_done()  # or use it as a context manager
"""

import asyncio
import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Self

from agents.core.messages import (
    Finished,
    ModelError,
    ModelEvent,
    ModelRequest,
    RawCall,
    ReasoningDelta,
    TextDelta,
)

from .script import Fault, Reply


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


@dataclass(frozen=True, slots=True)
class Hold:
    """Text received but held back: handed over with the next event, or found in `undelivered()`."""

    text: str


Item = ModelEvent | Pause | Hold | asyncio.Event | Exception
"""What a stream does next: yield, sleep, hold back, wait for the event, or raise."""
Answer = Reply | Fault | Exception | Sequence[Item]
ModelStep = Answer | Callable[[ModelRequest], Answer]


class ScriptedModel:
    def __init__(
        self,
        steps: Sequence[ModelStep],
        name: str = "scripted",
        window: int = 64_000,
        max_output: int = 8_192,
        *,
        then: ModelStep | None = None,
    ) -> None:
        self.steps = deque(steps)
        self.then = then
        self.name = name
        self.window = window
        self.max_output = max_output
        self.requests: list[ModelRequest] = []
        self.streams: list[ScriptedStream] = []

    @property
    def open(self) -> int:
        """Streams that neither ended nor were closed."""
        return sum(stream.end is None for stream in self.streams)

    @property
    def aborted(self) -> int:
        """Streams closed before their end."""
        return sum(stream.end == "aborted" for stream in self.streams)

    def stream(self, request: ModelRequest) -> "ScriptedStream":
        self.requests.append(request)
        step = self.steps.popleft() if self.steps else self.then
        if step is None:
            raise AssertionError(f"unexpected request {len(self.requests)}: {request}")
        answer = step(request) if callable(step) else step
        stream = ScriptedStream(_items(answer, request, len(self.requests)))
        self.streams.append(stream)
        return stream

    def assert_done(self) -> None:
        if self.steps:
            raise AssertionError(f"{len(self.steps)} unused steps, next: {self.steps[0]!r}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.assert_done()


class ScriptedStream:
    def __init__(self, items: Iterator[Item]) -> None:
        self.end: Literal["complete", "failed", "aborted"] | None = None
        self._items = items
        self._received: deque[ModelEvent] = deque()
        self._due = False
        """Whether what was received may be handed over."""
        self._begun = False

    def __aiter__(self) -> Self:
        assert not self._begun, "a stream is iterated once"
        self._begun = True
        return self

    async def __anext__(self) -> ModelEvent:
        while not self._due:
            await self._advance()
        if self.end == "aborted" or not self._received:
            raise StopAsyncIteration
        event = self._received.popleft()
        self._due = bool(self._received) or self.end is not None
        return event

    def undelivered(self) -> Sequence[ModelEvent]:
        return tuple(self._received)

    async def aclose(self) -> None:
        if self.end is None:
            self._stop("aborted")

    async def _advance(self) -> None:
        match next(self._items, None):
            case None:
                self._stop("complete")
            case Pause(seconds):
                await asyncio.sleep(seconds)
            case asyncio.Event() as event:
                await event.wait()
            case Hold(text):
                self._received.append(TextDelta(text))
            case Exception() as error:
                self._stop("failed")
                raise error
            case event:
                self._received.append(event)
                self._due = True

    def _stop(self, end: Literal["complete", "failed", "aborted"]) -> None:
        self.end, self._due = end, True


def _items(answer: Answer, request: ModelRequest, number: int) -> Iterator[Item]:
    match answer:
        case Reply():
            return _reply_items(answer, request, number)
        case Fault():
            return _reply_items(Reply(fault=answer), request, number)
        case Exception():
            return iter((answer,))
    return iter(answer)


def _reply_items(reply: Reply, request: ModelRequest, number: int) -> Iterator[Item]:
    """The events of a reply. A fault is a hang, or a ModelError after so many events."""
    events = tuple(_events(reply, request, number))
    fault = reply.fault
    for index, event in enumerate(events):
        yield Pause(reply.piece_delay if index else reply.delay)
        if fault is not None and index >= fault.position(len(events)):
            break
        yield event
    if fault is not None:
        yield Pause(math.inf if "hang" in fault.name else 0)
        yield ModelError(f"scripted {fault.name}")


def _events(reply: Reply, request: ModelRequest, number: int) -> Iterator[ModelEvent]:
    yield from map(ReasoningDelta, reply.split(reply.thinking))
    yield from map(TextDelta, reply.split(reply.text))
    calls = [
        RawCall(call.id_in(number, index), call.name, call.json)
        for index, call in enumerate(reply.calls)
    ]
    prompt = [list(request.messages), [dict(tool) for tool in request.tools]]
    yield Finished(tuple(calls), reply.finish_reason, reply.usage_after(prompt))
