"""One answer under way: tries, reads, hands over, and gives up properly."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from itertools import count
from typing import Protocol

import httpx

from agents.core.ports import (
    Clock,
    Finished,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    Retrying,
    TextDelta,
)
from agents.llm.answer import AnswerDecoder
from agents.llm.connections import sips_of
from agents.llm.endpoint import content_type, pieces, whole
from agents.llm.errors import EndpointError, OptionRefused
from agents.llm.retry import RetryPolicy

Sleep = Callable[[float], Awaitable[object]]

LAST_WORDS = 1.0
"""Seconds to wait for usage and the proper end after an answer that said it is finished."""
GOODBYE = 0.25
"""Seconds to wait for the proper end of a response that said it is done, to keep its connection."""


_SHOWN = (TextDelta, ReasoningDelta)


class Asker(Protocol):
    """What a stream needs of its model."""

    def ask(self, request: ModelRequest) -> AbstractAsyncContextManager[httpx.Response]:
        """Send the request; raises EndpointError, inside too."""

    def do_without(self, option: str) -> None:
        """Leave out an option that the endpoint does not know, from now on."""


class ChatStream:
    """A `ModelStream` over HTTP. Iterate it once."""

    def __init__(
        self, asker: Asker, request: ModelRequest, policy: RetryPolicy, clock: Clock, sleep: Sleep
    ) -> None:
        self._asker = asker
        self._request = request
        self._policy = policy
        self._clock = clock
        self._sleep = sleep
        self._known = tool_names(request)
        self._answer = AnswerDecoder()
        self._pending: Iterator[ModelEvent] = iter(())
        self._events = self._run()

    def __aiter__(self) -> AsyncIterator[ModelEvent]:
        return self._events

    def held_back(self) -> Sequence[ModelEvent]:
        pending = [event for event in self._pending if not isinstance(event, Finished)]
        return pending + self._answer.release()

    async def aclose(self) -> None:
        await self._events.aclose()

    async def _run(self) -> AsyncGenerator[ModelEvent, None]:
        for attempt in count(1):
            answer = self._answer = AnswerDecoder(self._known)
            failure: EndpointError | None = None
            try:
                async with (
                    self._asker.ask(self._request) as response,
                    aclosing(_read(response, answer)) as reads,
                ):
                    async for events in reads:
                        self._pending = iter(events)
                        for event in self._pending:
                            yield event
            except EndpointError as error:
                failure = error
                failure.__context__ = None  # What it comes from may name the key.
            if failure is None or answer.complete:
                self._pending = iter(answer.finish())
                for event in self._pending:
                    yield event
                failure = answer.fault
            if failure is None:
                return
            if answer.started:
                self._pending = iter(answer.release())
                for event in self._pending:
                    yield event
                raise failure
            wait = self._wait_after(failure, attempt)
            yield Retrying(attempt, wait, str(failure))
            await self._sleep(wait)

    def _wait_after(self, failure: EndpointError, attempt: int) -> float:
        if isinstance(failure, OptionRefused):
            self._asker.do_without(failure.option)
        time_left = self._request.deadline - self._clock.monotonic()
        return self._policy.wait_after(failure, attempt, time_left)


async def _read(
    response: httpx.Response, answer: AnswerDecoder
) -> AsyncGenerator[list[ModelEvent], None]:
    """The events of each read, up to the end of the answer or what makes it unreadable."""
    is_whole = content_type(response) == "application/json"
    body, feed = (whole, answer.feed_whole) if is_whole else (pieces, answer.feed)
    sips = sips_of(response)
    async with aclosing(body(response)) as reads:
        async for data in reads:
            events = feed(data)
            if events:
                yield events
            if sips is not None:
                sips.may_rest = bool(events) and type(events[-1]) in _SHOWN
            if answer.fault:
                raise answer.fault
            if answer.done:
                await _say_goodbye(reads)
                return
            if answer.complete:
                yield await _last_words(reads, answer)
                return


async def _last_words(reads: AsyncIterator[bytes], answer: AnswerDecoder) -> list[ModelEvent]:
    """What follows a finished answer, usage for one. Some endpoints then say no more, and leave
    the connection open: they are not waited for."""
    events: list[ModelEvent] = []
    with suppress(TimeoutError, httpx.HTTPError):
        async with asyncio.timeout(LAST_WORDS):
            async for data in reads:
                events += answer.feed(data)
                if answer.done:
                    await _say_goodbye(reads)
                    break
    return events


async def _say_goodbye(reads: AsyncIterator[bytes]) -> None:
    with suppress(TimeoutError, httpx.HTTPError):
        async with asyncio.timeout(GOODBYE):
            async for _ in reads:
                pass


def tool_names(request: ModelRequest) -> frozenset[str]:
    names = (tool.get("function", {}).get("name") for tool in request.tools)
    return frozenset(name for name in names if isinstance(name, str))
