"""Asking somebody's endpoint for its models, and whether it answers: for a page of the settings.

Bounded in time, whatever the endpoint does. EndpointError says what happened and what to do.
"""

import asyncio
import time
from dataclasses import dataclass

import httpx

from agents.core.clock import LoopClock
from agents.core.messages import Finished, ModelRequest
from agents.endpoints.selection import (
    NO_MODEL_CHOSEN,
    ModelEndpoint,
    build_model,
    get_policy,
    model_name,
    select_endpoint,
)
from agents.llm import (
    EmptyStream,
    EndpointNotAllowed,
    EndpointOrigin,
    ModelList,
    NotFound,
    TimedOut,
    WrongAddress,
    asking_person,
    build_http_client,
    get_capabilities,
    list_models,
    resolve,
)
from agents.models import ModelSettings

PROBE_SECONDS = 30.0
"""For one token: a local model may have to be read from disk first."""
RESOLVE_SECONDS = 3.0
THINKING_TOKENS = 256
"""Tokens for a model that thinks first: with one it would be cut off before it says anything."""
PROBE_TOOL = {
    "type": "function",
    "function": {
        "name": "note",
        "description": "Write something down.",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
    },
}
"""Offered, so that a model that cannot use tools is found out here, not in the first run."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """A model that answered."""

    model: str
    host: str
    seconds: float


async def list_endpoint_models(chosen: ModelSettings) -> ModelList:
    """Return what somebody's endpoint offers; nothing for the embedded model."""
    asking_person.set(chosen.user_id)
    place = _select_endpoint(chosen)
    if place is None:
        return ModelList((), is_complete=True)
    async with _build_client(place) as http:
        return await list_models(http, place.base_url, place.api_key, LoopClock())


async def probe(chosen: ModelSettings) -> ProbeResult | None:
    """Ask for one token, as a run would; None if it is the embedded model, which always answers."""
    asking_person.set(chosen.user_id)
    place = _select_endpoint(chosen)
    if place is None:
        return None
    name = model_name("", chosen)
    if not name:
        raise NotFound(NO_MODEL_CHOSEN)
    began = time.monotonic()
    try:
        async with asyncio.timeout(PROBE_SECONDS), _build_client(place) as http:
            await _request_one_token(http, place, name, chosen)
    except TimeoutError:
        raise TimedOut from None
    return ProbeResult(name, httpx.URL(place.base_url).host, time.monotonic() - began)


async def resolve_host(user_id: int, place: EndpointOrigin) -> tuple[str, ...]:
    """Return the IP addresses of a host, on behalf of a person; none if they are not known in time.

    LookupRefused: too many names of that person wait already.
    """
    asking_person.set(user_id)
    try:
        async with asyncio.timeout(RESOLVE_SECONDS):
            return tuple(await resolve(place.host, place.port))
    except (OSError, UnicodeError):  # a time-out among them
        return ()


async def _request_one_token(
    http: httpx.AsyncClient, endpoint: ModelEndpoint, name: str, chosen: ModelSettings
) -> None:
    model = build_model(http, endpoint, name, chosen)
    request = ModelRequest(
        messages=({"role": "user", "content": "Say OK."},),
        tools=(PROBE_TOOL,),
        tool_choice="auto",
        max_tokens=1 if get_capabilities(name).thinking == "none" else THINKING_TOKENS,
        deadline=LoopClock().monotonic() + PROBE_SECONDS,
    )
    stream = model.stream(request)
    try:
        async for event in stream:
            if isinstance(event, Finished):
                return
    finally:
        await stream.aclose()
    raise EmptyStream


def _select_endpoint(chosen: ModelSettings) -> ModelEndpoint | None:
    try:
        return select_endpoint(chosen)
    except EndpointNotAllowed as refused:
        raise WrongAddress(str(refused)) from None


def _build_client(endpoint: ModelEndpoint) -> httpx.AsyncClient:
    return (
        build_http_client(permits=get_policy().permits) if endpoint.is_own else build_http_client()
    )
