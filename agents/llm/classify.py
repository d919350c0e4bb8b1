"""Which error a refusal is. What the endpoint wrote is only looked at, never repeated."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from agents.llm.errors import (
    BadResponse,
    ContextTooLong,
    EndpointError,
    KeyRefused,
    NotFound,
    OptionRefused,
    OutOfCredit,
    Overloaded,
    RateLimited,
    Redirected,
    RequestRefused,
    TimedOut,
    ToolsUnsupported,
)

Options = Mapping[str, tuple[str, ...]]

_BY_STATUS: dict[int, type[EndpointError]] = {
    401: KeyRefused,
    402: OutOfCredit,
    403: KeyRefused,
    404: NotFound,
    405: NotFound,
    408: TimedOut,
    410: NotFound,
    413: ContextTooLong,
    425: Overloaded,
    429: RateLimited,
    501: NotFound,
}

_CONTEXT = (
    "context_length",
    "context length",
    "maximum context",
    "context size",
    "context window",
    "prompt is too long",
    "too many tokens",
)
_Words = tuple[tuple[tuple[str, ...], type[EndpointError]], ...]
_BY_WORDS: _Words = (
    (_CONTEXT, ContextTooLong),
    (("insufficient_quota", "insufficient credit", "exceeded your current quota"), OutOfCredit),
    (("not support tool", "that support tool", "not support function"), ToolsUnsupported),
    (("invalid_api_key", "api key not valid", "authentication_error"), KeyRefused),
    (("model_not_found",), NotFound),
)
_IN_STREAM: _Words = (
    *_BY_WORDS,
    (("rate_limit", "rate limit"), RateLimited),
    (("timeout", "timed out"), TimedOut),
    (("invalid_request",), RequestRefused),
)

_REFUSED = (400, 422)
_UNSURE = {404: ToolsUnsupported, 429: OutOfCredit}
"""Statuses that some endpoints also use for something else."""


def refusal(
    status: int,
    body: bytes = b"",
    retry_after: float | None = None,
    options: Options = MappingProxyType({}),
) -> EndpointError:
    """The error for a response that is no answer.

    `options`: what we could do without, each with the words by which endpoints refuse it.
    """
    if 300 <= status < 400:
        return Redirected()
    words = _words_of(_json(body)) if status in _REFUSED or status in _UNSURE else ""
    kind = _by_words(words, _BY_WORDS)
    if status in _REFUSED:
        option = _refused(options, words)
        if option and kind is None:
            return OptionRefused(option)
    elif kind is not _UNSURE.get(status):
        kind = None
    return (kind or _by_status(status))(retry_after=retry_after)


def _refused(options: Options, words: str) -> str | None:
    refused = (option for option, names in options.items() if any(name in words for name in names))
    return next(refused, None)


def error_in_stream(error: object) -> EndpointError:
    """The error for an error object inside an answer that began with status 200."""
    status = _status_of(error)
    kind = _by_words(_words_of({"error": error}), _IN_STREAM)
    return (kind or (_by_status(status) if status else Overloaded))()


def _by_status(status: int) -> type[EndpointError]:
    if status >= 500 and status != 501:
        return Overloaded
    if 400 <= status < 500 or status == 501:
        return _BY_STATUS.get(status, RequestRefused)
    return BadResponse


def _by_words(words: str, table: _Words) -> type[EndpointError] | None:
    kinds = (kind for needles, kind in table if any(needle in words for needle in needles))
    return next(kinds, None)


def _json(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return body.decode(errors="replace")


def _words_of(body: object) -> str:
    """Message, code, type and parameter of an error body, in lower case."""
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict):
        return body.lower() if isinstance(body, str) else ""
    error = body.get("error") or body
    if not isinstance(error, dict):
        return str(error).lower()
    return " ".join(_texts(error)).lower()


def _texts(error: dict[str, Any]) -> list[str]:
    keys = ("message", "code", "type", "param", "detail", "metadata")
    return [str(error[key]) for key in keys if error.get(key)]


def _status_of(error: object) -> int | None:
    code = error.get("code", error.get("status")) if isinstance(error, dict) else None
    try:
        status = int(code) if isinstance(code, int | str) else 0
    except ValueError:
        return None
    return status if 400 <= status < 600 else None
