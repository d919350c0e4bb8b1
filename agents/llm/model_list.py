"""The models that an endpoint offers, as it says itself. It may be slow, wrong or hostile."""

import asyncio
import json
import re
from dataclasses import dataclass
from typing import Any

import httpx

from agents.core.ports import Clock
from agents.llm.capabilities import DEFAULT_CAPABILITIES, get_capabilities
from agents.llm.endpoint import EndpointClient, read_limited
from agents.llm.errors import BadResponse, EndpointError, NotFound, TimedOut, UnknownModel

LIST_SECONDS = 10.0
MAX_BYTES = 1 << 20
MAX_MODELS = 2_000
MAX_NAME_LENGTH = 200
SUGGESTION_SECONDS = 2.0
"""For a list that only makes a message better."""
MAX_SUGGESTIONS = 8
MAX_SUGGESTION_LENGTH = 80

_WINDOW_KEYS = ("context_length", "context_window", "max_model_len", "max_context_length")
"""What OpenRouter, Groq, vLLM and LM Studio call it."""
_NESTED_WINDOW_KEYS = (("top_provider", "context_length"), ("meta", "n_ctx_train"))
_MAX_WINDOW = 100_000_000

_WORD = re.compile(r"[a-z]+|\d+")
_SEPARATOR = re.compile(r"[\s,]*")
_decode = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model; `window` in tokens, None if nobody says."""

    name: str
    window: int | None


@dataclass(frozen=True, slots=True)
class ModelList:
    models: tuple[ModelInfo, ...]
    is_complete: bool
    """Whether these are all: of a list that is too long, the beginning is read."""


async def list_models(
    client: httpx.AsyncClient, base_url: str, api_key: str, clock: Clock
) -> ModelList:
    """List the endpoint's models, or raise EndpointError."""
    return await _fetch_model_list(EndpointClient(client, base_url, api_key, clock), LIST_SECONDS)


async def suggest_models(
    endpoint: EndpointClient, model: str, failure: NotFound, seconds: float
) -> NotFound:
    """Return the failure with the models that do exist, if the endpoint says them soon.

    A bare 404 may mean that the address is wrong. Then there is no list either; or it has our
    model, and the reason is another one.
    """
    try:
        listing = await _fetch_model_list(endpoint, min(seconds, SUGGESTION_SECONDS))
    except EndpointError:
        return failure
    names = [listed.name for listed in listing.models]
    is_sure = isinstance(failure, UnknownModel) or (listing.is_complete and model not in names)
    others = [name for name in names if name != model and endpoint.is_safe_to_show(name)]
    if not (is_sure and others):
        return failure
    words = _split_name(model)
    others.sort(key=lambda name: -len(words & _split_name(name)))  # those of a kind stay in order
    shown = [name for name in others if len(name) <= MAX_SUGGESTION_LENGTH][:MAX_SUGGESTIONS]
    return (
        UnknownModel.with_suggestions(model, shown, len(others) - len(shown)) if shown else failure
    )


async def _fetch_model_list(endpoint: EndpointClient, seconds: float) -> ModelList:
    try:
        async with asyncio.timeout(seconds), endpoint.get_models(seconds) as response:
            body = await read_limited(MAX_BYTES, response)
    except TimeoutError:
        raise TimedOut from None
    return parse_model_list(body)


def _split_name(name: str) -> set[str]:
    """Return what names of similar models have in common."""
    return set(_WORD.findall(name.casefold()))


def parse_model_list(body: bytes) -> ModelList:
    """Return the listing in a body; BadResponse if there is none."""
    entries, is_whole = _parse_entries(body)
    found: dict[str, ModelInfo] = {}
    for entry in entries:
        if len(found) == MAX_MODELS:
            is_whole = False
            break
        if (listed := _parse_model(entry)) is not None:
            found.setdefault(listed.name, listed)
    ordered = sorted(found.values(), key=lambda listed: listed.name.casefold())
    return ModelList(tuple(ordered), is_whole)


def get_known_window(model: str) -> int | None:
    """Return the context of a model by its name alone."""
    known = get_capabilities(model)
    return None if known is DEFAULT_CAPABILITIES else known.window


def _parse_entries(body: bytes) -> tuple[list[Any], bool]:
    if len(body) > MAX_BYTES:
        return _parse_first_entries(body[:MAX_BYTES].decode("utf-8-sig", "ignore")), False
    try:
        value = json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise BadResponse from None
    entries = value.get("data", value.get("models")) if isinstance(value, dict) else value
    if not isinstance(entries, list):
        raise BadResponse
    return entries, True


def _parse_first_entries(text: str) -> list[Any]:
    """Return the complete entries at the beginning of a list that was cut off."""
    entries: list[Any] = []
    pos = text.find("[") + 1
    while pos and len(entries) <= MAX_MODELS:
        pos = _SEPARATOR.match(text, pos).end()  # type: ignore[union-attr]  # matches nothing, too
        try:
            entry, pos = _decode(text, pos)
        except (ValueError, RecursionError):
            break
        entries.append(entry)
    if not entries:
        raise BadResponse
    return entries


def _parse_model(entry: object) -> ModelInfo | None:
    if not isinstance(entry, dict):
        return None
    name = entry.get("id", entry.get("name"))
    if not isinstance(name, str) or not (0 < len(name) <= MAX_NAME_LENGTH and name.isprintable()):
        return None
    return ModelInfo(name, _find_window(entry) or get_known_window(name))


def _find_window(entry: dict[str, Any]) -> int | None:
    nested = (
        part.get(key)
        for group, key in _NESTED_WINDOW_KEYS
        if isinstance(part := entry.get(group), dict)
    )
    for value in (*(entry.get(key) for key in _WINDOW_KEYS), *nested):
        if type(value) is int and 0 < value <= _MAX_WINDOW:
            return value
    return None
