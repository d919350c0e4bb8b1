"""The models that an endpoint offers, as it says itself. It may be slow, wrong or hostile."""

import asyncio
import json
import re
from dataclasses import dataclass
from typing import Any

import httpx

from agents.core.ports import Clock
from agents.llm.capabilities import UNKNOWN, capabilities_of
from agents.llm.endpoint import Endpoint, up_to
from agents.llm.errors import BadResponse, TimedOut

SECONDS = 10.0
MOST_BYTES = 1 << 20
MOST_MODELS = 2_000
LONGEST_NAME = 200

_WINDOWS = ("context_length", "context_window", "max_model_len", "max_context_length")
"""What OpenRouter, Groq, vLLM and LM Studio call it."""
_NESTED = (("top_provider", "context_length"), ("meta", "n_ctx_train"))
_LARGEST_WINDOW = 100_000_000

_BETWEEN = re.compile(r"[\s,]*")
_decode = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class Listed:
    """A model; `window` in tokens, None if nobody says."""

    name: str
    window: int | None


@dataclass(frozen=True, slots=True)
class Listing:
    models: tuple[Listed, ...]
    is_whole: bool
    """Whether these are all: of a list that is too long, the beginning is read."""


async def list_models(
    client: httpx.AsyncClient, base_url: str, api_key: str, clock: Clock
) -> Listing:
    """Raises EndpointError."""
    endpoint = Endpoint(client, base_url, api_key, clock)
    try:
        async with asyncio.timeout(SECONDS), endpoint.get_models(SECONDS) as response:
            body = await up_to(MOST_BYTES, response)
    except TimeoutError:
        raise TimedOut from None
    return read(body)


def read(body: bytes) -> Listing:
    """The listing in a body; BadResponse if there is none."""
    entries, is_whole = _entries(body)
    found: dict[str, Listed] = {}
    for entry in entries:
        if len(found) == MOST_MODELS:
            is_whole = False
            break
        if (listed := _listed(entry)) is not None:
            found.setdefault(listed.name, listed)
    ordered = sorted(found.values(), key=lambda listed: listed.name.casefold())
    return Listing(tuple(ordered), is_whole)


def known_window(model: str) -> int | None:
    """The context of a model by its name alone."""
    known = capabilities_of(model)
    return None if known is UNKNOWN else known.window


def _entries(body: bytes) -> tuple[list[Any], bool]:
    if len(body) > MOST_BYTES:
        return _first_entries(body[:MOST_BYTES].decode("utf-8-sig", "ignore")), False
    try:
        value = json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise BadResponse from None
    entries = value.get("data", value.get("models")) if isinstance(value, dict) else value
    if not isinstance(entries, list):
        raise BadResponse
    return entries, True


def _first_entries(text: str) -> list[Any]:
    """The complete entries at the beginning of a list that was cut off."""
    entries: list[Any] = []
    pos = text.find("[") + 1
    while pos and len(entries) <= MOST_MODELS:
        pos = _BETWEEN.match(text, pos).end()  # type: ignore[union-attr]  # matches nothing, too
        try:
            entry, pos = _decode(text, pos)
        except (ValueError, RecursionError):
            break
        entries.append(entry)
    if not entries:
        raise BadResponse
    return entries


def _listed(entry: object) -> Listed | None:
    if not isinstance(entry, dict):
        return None
    name = entry.get("id", entry.get("name"))
    if not isinstance(name, str) or not (0 < len(name) <= LONGEST_NAME and name.isprintable()):
        return None
    return Listed(name, _window(entry) or known_window(name))


def _window(entry: dict[str, Any]) -> int | None:
    nested = (part.get(key) for group, key in _NESTED if isinstance(part := entry.get(group), dict))
    for value in (*(entry.get(key) for key in _WINDOWS), *nested):
        if type(value) is int and 0 < value <= _LARGEST_WINDOW:
            return value
    return None
