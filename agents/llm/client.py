"""Any OpenAI-compatible chat-completions endpoint, as the loop's `ChatModel`."""

import asyncio
import json
import random
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import lru_cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpx

from agents.core.ports import Clock, ModelEvent, ModelRequest
from agents.llm.capabilities import UNKNOWN, capabilities_of, thinking_options
from agents.llm.classify import Options
from agents.llm.connections import Permits, Resolve, resolve, use_ours
from agents.llm.endpoint import Endpoint
from agents.llm.errors import EndpointError
from agents.llm.retry import Random, RetryPolicy
from agents.llm.stream import ChatStream, Sleep

_REFUSED_BY = {
    "stream_options": ("stream_options",),
    "max_tokens": ("max_completion_tokens",),
    "reasoning": ("reasoning",),
    "reasoning_effort": ("reasoning_effort", "reasoning effort", "reasoning.effort"),
    "chat_template_kwargs": ("chat_template_kwargs", "enable_thinking", "thinking"),
}
"""Parameters that not every endpoint knows, each with the words that refuse it."""


def build_http_client(
    transport: httpx.AsyncBaseTransport | None = None,
    permits: Permits | None = None,
    resolve: Resolve = resolve,
) -> httpx.AsyncClient:
    """A client for a whole process: building it is slow, and its connections are kept.

    `permits` is for the addresses that people have entered. Then no proxy of the environment is
    used: what it connects to could not be checked.
    """
    client = httpx.AsyncClient(
        transport=transport,
        verify=_certificates(),
        trust_env=permits is None,
        timeout=httpx.Timeout(60.0, connect=10.0),
        limits=httpx.Limits(max_connections=1000, max_keepalive_connections=100),
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        follow_redirects=False,
    )
    use_ours(client, permits, resolve)
    return client


@lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    """Whom to trust; reading them is what makes building a client slow."""
    return httpx.create_ssl_context()


class OpenAIChatModel:
    """A model at an endpoint. `base_url` is as OpenAI clients take it, ending in `/v1`."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        base_url: str,
        model: str,
        api_key: str = "",
        thinking: bool = False,
        effort: str = "medium",
        *,
        clock: Clock,
        streaming: bool = True,
        sleep: Sleep = asyncio.sleep,
        rng: Random = random,
    ) -> None:
        self._endpoint = Endpoint(client, base_url, api_key, clock)
        self._model = model
        self._capabilities = capabilities_of(model)
        self._clock = clock
        self._sleep = sleep
        self._policy = RetryPolicy(rng)
        self._fixed: dict[str, Any] = {"model": model}
        self._optional = thinking_options(model, self._endpoint.host, effort) if thinking else {}
        if streaming:
            self._fixed["stream"] = True
            self._optional["stream_options"] = {"include_usage": True}
        self._cap: str = self._capabilities.cap

    def __repr__(self) -> str:
        return f"OpenAIChatModel({self._model!r} at {self._endpoint.host!r})"

    @property
    def name(self) -> str:
        return self._model

    @property
    def window(self) -> int:
        return self._capabilities.window

    @property
    def max_output(self) -> int:
        return self._capabilities.max_output

    def stream(self, request: ModelRequest) -> ChatStream:
        return ChatStream(self, request, self._policy, self._clock, self._sleep)

    def ask(self, request: ModelRequest) -> AbstractAsyncContextManager[httpx.Response]:
        seconds = request.deadline - self._clock.monotonic()
        return self._endpoint.post(self._body(request), self._options(), seconds)

    def do_without(self, option: str) -> None:
        """Remember that the endpoint does not know an option of ours."""
        if option == "max_tokens":
            self._cap = "max_completion_tokens"
        self._optional.pop(option, None)

    def _options(self) -> Options:
        return {key: _REFUSED_BY[key] for key in (*self._optional, self._cap) if key in _REFUSED_BY}

    def _body(self, request: ModelRequest) -> bytes:
        body = {
            **self._fixed,
            **self._optional,
            "messages": request.messages,
            self._cap: min(request.max_tokens, self._capabilities.max_output),
        }
        if request.tools:
            body["tools"] = request.tools
            body["tool_choice"] = request.tool_choice
        return _encode(body).encode()


class NoModel:
    """A model that cannot be asked, and why: the run that asks says it to its user."""

    def __init__(self, name: str, error: EndpointError) -> None:
        self._error = error
        self.name = name
        self.window, self.max_output = UNKNOWN.window, UNKNOWN.max_output

    def stream(self, request: ModelRequest) -> "NoModel":
        return self

    def held_back(self) -> Sequence[ModelEvent]:
        return ()

    def __aiter__(self) -> AsyncIterator[ModelEvent]:
        return self

    async def __anext__(self) -> ModelEvent:
        raise self._error

    async def aclose(self) -> None:
        pass


def _plain(value: object) -> object:
    """For the encoder: any mapping or sequence that is not a dict, list or tuple."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(type(value).__name__)


_encode = json.JSONEncoder(separators=(",", ":"), default=_plain).encode
