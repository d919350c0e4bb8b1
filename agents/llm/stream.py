"""Stream one answer: connect, retry, decode, pass on, and close properly."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from itertools import count
from typing import Protocol

import httpx

from agents.core.messages import (
    Finished,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    Retrying,
    TextDelta,
)
from agents.core.ports import Clock
from agents.llm.decoding.response import ResponseDecoder
from agents.llm.endpoint import content_type, iter_body, log_refusal, read_body
from agents.llm.errors import BrokenStream, EndpointError, IdleTimeout, OptionRefused
from agents.llm.retry import RetryPolicy
from agents.llm.transport.pool import get_paced_stream

Sleep = Callable[[float], Awaitable[object]]

TRAILER_SECONDS = 1.0
"""Seconds to wait for usage and the proper end after an answer that said it is finished."""
DRAIN_SECONDS = 0.25
"""Seconds to wait for the proper end of a response that said it is done, to keep its connection."""


_VISIBLE_DELTAS = (TextDelta, ReasoningDelta)


class ChatEndpoint(Protocol):
    """What a stream needs of its model."""

    def send_request(self, request: ModelRequest) -> AbstractAsyncContextManager[httpx.Response]:
        """Send the request; raises EndpointError, inside too."""

    def drop_option(self, option: str) -> None:
        """Leave out an option that the endpoint does not know, from now on."""

    async def explain(self, failure: EndpointError, seconds: float) -> EndpointError:
        """Find out more about a failure that ends the matter, in so many seconds at most."""


class ChatStream:
    """A `ModelStream` over HTTP. Iterate it once."""

    def __init__(
        self,
        endpoint: ChatEndpoint,
        request: ModelRequest,
        policy: RetryPolicy,
        clock: Clock,
        sleep: Sleep,
    ) -> None:
        self._endpoint = endpoint
        self._request = request
        self._policy = policy
        self._clock = clock
        self._sleep = sleep
        self._tool_names = tool_names(request)
        self._decoder: ResponseDecoder | None = None
        self._pending: Iterator[ModelEvent] = iter(())
        self._events = self._run()

    def __aiter__(self) -> AsyncIterator[ModelEvent]:
        return self._events

    def undelivered(self) -> Sequence[ModelEvent]:
        pending = [event for event in self._pending if not isinstance(event, Finished)]
        held_back = self._decoder.flush_raw() if self._decoder is not None else []
        return pending + held_back

    async def aclose(self) -> None:
        await self._events.aclose()

    async def _run(self) -> AsyncGenerator[ModelEvent, None]:
        for attempt in count(1):
            answer = self._decoder = ResponseDecoder(self._tool_names)
            failure: EndpointError | None = None
            try:
                async with (
                    self._endpoint.send_request(self._request) as response,
                    aclosing(_read_events(response, answer)) as reads,
                ):
                    async for events in reads:
                        self._pending = iter(events)
                        for event in self._pending:
                            yield event
            except EndpointError as error:
                failure = error
                failure.__context__ = None  # What it comes from may name the key.
            if failure is None or answer.complete:
                self._pending = iter(answer.flush())
                for event in self._pending:
                    yield event
                failure = answer.fault
            if failure is None:
                return
            if answer.started:
                self._pending = iter(answer.flush_raw())
                for event in self._pending:
                    yield event
                raise _error_after_content(failure)
            wait = await self._wait_after(failure, attempt)
            yield Retrying(attempt, wait, str(failure))
            await self._sleep(wait)

    async def _wait_after(self, failure: EndpointError, attempt: int) -> float:
        time_left = self._request.deadline - self._clock.monotonic()
        if isinstance(failure, OptionRefused):
            self._endpoint.drop_option(failure.option)
        elif not failure.retryable:
            raise await self._endpoint.explain(failure, time_left / 2)
        return self._policy.wait_after(failure, attempt, time_left)


def _error_after_content(failure: EndpointError) -> EndpointError:
    """Return a failure as it is told when part of the answer is there."""
    if not isinstance(failure, IdleTimeout):
        return failure
    return BrokenStream(
        f"The model stopped in the middle of its answer: nothing came for {failure.seconds} s. "
        "What arrived is kept; continue or ask again."
    )


async def _read_events(
    response: httpx.Response, decoder: ResponseDecoder
) -> AsyncGenerator[list[ModelEvent], None]:
    """Yield the events of each read, up to the end of the answer or what makes it unreadable."""
    is_whole = content_type(response) == "application/json"
    body, feed = (read_body, decoder.feed_body) if is_whole else (iter_body, decoder.feed)
    paced = get_paced_stream(response)
    async with aclosing(body(response)) as reads:
        async for data in reads:
            events = feed(data)
            if events:
                yield events
            if paced is not None:
                paced.may_delay = bool(events) and type(events[-1]) in _VISIBLE_DELTAS
            if decoder.fault:
                if decoder.fault.detail:
                    log_refusal(response, decoder.fault)
                raise decoder.fault
            if decoder.done:
                await _drain(reads)
                return
            if decoder.complete:
                yield await _read_trailer(reads, decoder)
                return


async def _read_trailer(reads: AsyncIterator[bytes], decoder: ResponseDecoder) -> list[ModelEvent]:
    """Return what follows a finished answer, usage for one. Some endpoints then say no more, and
    leave the connection open: they are not waited for."""
    events: list[ModelEvent] = []
    with suppress(TimeoutError, httpx.HTTPError):
        async with asyncio.timeout(TRAILER_SECONDS):
            async for data in reads:
                events += decoder.feed(data)
                if decoder.done:
                    await _drain(reads)
                    break
    return events


async def _drain(reads: AsyncIterator[bytes]) -> None:
    with suppress(TimeoutError, httpx.HTTPError):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in reads:
                pass


def tool_names(request: ModelRequest) -> frozenset[str]:
    names = (tool.get("function", {}).get("name") for tool in request.tools)
    return frozenset(name for name in names if isinstance(name, str))
