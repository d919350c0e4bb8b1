"""Asking somebody's endpoint for its models, and whether it answers: for a page of the settings.

Bounded in time, whatever the endpoint does. EndpointError says what happened and what to do.
"""

import asyncio
import time
from dataclasses import dataclass

import httpx

from agents.core.clock import LoopClock
from agents.core.ports import Finished, ModelRequest
from agents.llm.addresses import NotAllowed, Place
from agents.llm.capabilities import capabilities_of
from agents.llm.client import build_http_client
from agents.llm.connections import resolve
from agents.llm.errors import EmptyStream, NotFound, TimedOut, WrongAddress
from agents.llm.listing import Listing, list_models
from agents.models import ModelSettings
from agents.runtime.endpoints import Answering, answering, model_name, policy
from agents.runtime.world import NONE_CHOSEN, model_at

SECONDS = 30.0
"""For one token: a local model may have to be read from disk first."""
RESOLVE_SECONDS = 3.0
ROOM_TO_THINK = 256
"""Tokens for a model that thinks first: with one it would be cut off before it says anything."""
TOOL = {
    "type": "function",
    "function": {
        "name": "note",
        "description": "Write something down.",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
    },
}
"""Offered, so that a model that cannot use tools is found out here, not in the first run."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A model that answered."""

    model: str
    place: str
    seconds: float


async def models_of(chosen: ModelSettings) -> Listing:
    """What somebody's endpoint offers; nothing for the embedded model."""
    place = _place(chosen)
    if place is None:
        return Listing((), is_whole=True)
    async with _client(place) as http:
        return await list_models(http, place.base_url, place.api_key, LoopClock())


async def try_out(chosen: ModelSettings) -> Tried | None:
    """Ask for one token, as a run would; None if it is the embedded model, which always answers."""
    place = _place(chosen)
    if place is None:
        return None
    name = model_name("", chosen)
    if not name:
        raise NotFound(NONE_CHOSEN)
    began = time.monotonic()
    try:
        async with asyncio.timeout(SECONDS), _client(place) as http:
            await _one_token(http, place, name, chosen)
    except TimeoutError:
        raise TimedOut from None
    return Tried(name, httpx.URL(place.base_url).host, time.monotonic() - began)


async def addresses_of(place: Place) -> tuple[str, ...]:
    """What a host resolves to; nothing if that cannot be said now."""
    try:
        async with asyncio.timeout(RESOLVE_SECONDS):
            return tuple(await resolve(place.host, place.port))
    except (OSError, UnicodeError):  # a time-out among them
        return ()


async def _one_token(
    http: httpx.AsyncClient, place: Answering, name: str, chosen: ModelSettings
) -> None:
    model = model_at(http, place, name, chosen)
    request = ModelRequest(
        messages=({"role": "user", "content": "Say OK."},),
        tools=(TOOL,),
        tool_choice="auto",
        max_tokens=1 if capabilities_of(name).thinking == "none" else ROOM_TO_THINK,
        deadline=LoopClock().monotonic() + SECONDS,
    )
    stream = model.stream(request)
    try:
        async for event in stream:
            if isinstance(event, Finished):
                return
    finally:
        await stream.aclose()
    raise EmptyStream


def _place(chosen: ModelSettings) -> Answering | None:
    try:
        return answering(chosen)
    except NotAllowed as refused:
        raise WrongAddress(str(refused)) from None


def _client(place: Answering) -> httpx.AsyncClient:
    return build_http_client(permits=policy().permits) if place.is_own else build_http_client()
