"""Any OpenAI-compatible chat-completions endpoint, as the loop's `ChatModel`."""

import asyncio
import json
import random
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import lru_cache, partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpx

from agents.core.messages import ModelEvent, ModelRequest
from agents.core.ports import Clock
from agents.llm.capabilities import DEFAULT_CAPABILITIES, get_capabilities, thinking_options
from agents.llm.endpoint import EndpointClient
from agents.llm.error_mapping import Options
from agents.llm.errors import EndpointError, NotFound
from agents.llm.model_list import suggest_models
from agents.llm.retry import Random, RetryPolicy
from agents.llm.stream import ChatStream, Sleep
from agents.llm.transport.backend import CheckedBackend, Permits, Resolve, resolve_for_site
from agents.llm.transport.lookups import resolve as resolve_for_person
from agents.llm.transport.pool import PoolTransport
from agents.llm.transport.proxies import environment_proxies

_LIMITS = httpx.Limits(max_connections=1000, max_keepalive_connections=100)
_REFUSAL_PHRASES = {
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
    resolve: Resolve | None = None,
) -> httpx.AsyncClient:
    """Return a client for a whole process: building it is slow, and its connections are kept.

    `permits` is for the addresses that people have entered. Then no proxy of the environment is
    used: what it connects to could not be checked. And names are looked up within the limits of
    the person who asks, `asking_person`; `resolve` replaces this.
    """
    mounts: dict[str, httpx.AsyncBaseTransport | None] = {}
    if transport is None:
        usual = resolve_for_site if permits is None else resolve_for_person
        backend = CheckedBackend(permits, resolve or usual)
        build = partial(PoolTransport, backend, _load_ssl_context(), _LIMITS)
        transport = build()
        for pattern, proxy in environment_proxies().items() if permits is None else ():
            mounts[pattern] = None if proxy is None else build(proxy)
    return httpx.AsyncClient(
        transport=transport,
        mounts=mounts,
        trust_env=False,
        timeout=httpx.Timeout(60.0, connect=10.0),
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        follow_redirects=False,
    )


@lru_cache(maxsize=1)
def _load_ssl_context() -> ssl.SSLContext:
    """Return whom to trust; reading them is what makes building a client slow."""
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
        self._endpoint = EndpointClient(client, base_url, api_key, clock)
        self._model = model
        self._capabilities = get_capabilities(model)
        self._clock = clock
        self._sleep = sleep
        self._policy = RetryPolicy(rng)
        self._required_params: dict[str, Any] = {"model": model}
        self._optional_params = (
            thinking_options(model, self._endpoint.host, effort) if thinking else {}
        )
        if streaming:
            self._required_params["stream"] = True
            self._optional_params["stream_options"] = {"include_usage": True}
        self._max_tokens_param: str = self._capabilities.max_tokens_param

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

    def send_request(self, request: ModelRequest) -> AbstractAsyncContextManager[httpx.Response]:
        seconds = request.deadline - self._clock.monotonic()
        return self._endpoint.post(
            self._encode_body(request), self._options(), seconds, request.silence
        )

    def drop_option(self, option: str) -> None:
        """Remember that the endpoint does not know an option of ours."""
        if option == "max_tokens":
            self._max_tokens_param = "max_completion_tokens"
        self._optional_params.pop(option, None)

    async def explain(self, failure: EndpointError, seconds: float) -> EndpointError:
        """Say which models there are, where the endpoint seems not to know ours."""
        if not isinstance(failure, NotFound):
            return failure
        return await suggest_models(self._endpoint, self._model, failure, seconds)

    def _options(self) -> Options:
        return {
            key: _REFUSAL_PHRASES[key]
            for key in (*self._optional_params, self._max_tokens_param)
            if key in _REFUSAL_PHRASES
        }

    def _encode_body(self, request: ModelRequest) -> bytes:
        body = {
            **self._required_params,
            **self._optional_params,
            "messages": request.messages,
            self._max_tokens_param: min(request.max_tokens, self._capabilities.max_output),
        }
        if request.tools:
            body["tools"] = request.tools
            body["tool_choice"] = request.tool_choice
        return _encode(body).encode()


class UnavailableModel:
    """A model that cannot be asked, and why: the run that asks says it to its user."""

    def __init__(self, name: str, error: EndpointError) -> None:
        self._error = error
        self.name = name
        self.window, self.max_output = DEFAULT_CAPABILITIES.window, DEFAULT_CAPABILITIES.max_output

    def stream(self, request: ModelRequest) -> "UnavailableModel":
        return self

    def undelivered(self) -> Sequence[ModelEvent]:
        return ()

    def __aiter__(self) -> AsyncIterator[ModelEvent]:
        return self

    async def __anext__(self) -> ModelEvent:
        raise self._error

    async def aclose(self) -> None:
        pass


def _to_jsonable(value: object) -> object:
    """Encode any mapping or sequence that is not a dict, list or tuple."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(type(value).__name__)


_encode = json.JSONEncoder(separators=(",", ":"), default=_to_jsonable).encode
