"""Which error a refusal is. What the endpoint wrote is looked at, and kept for the log alone."""

import json
import re
from collections.abc import Mapping
from types import MappingProxyType

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
    UnknownModel,
)

Options = Mapping[str, tuple[str, ...]]

_ERRORS_BY_STATUS: dict[int, type[EndpointError]] = {
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

_CONTEXT_PHRASES = (
    "context_length",
    "context length",
    "maximum context",
    "context size",
    "context window",
    "prompt is too long",
    "too many tokens",
)
_PhraseTable = tuple[tuple[tuple[str, ...], type[EndpointError]], ...]
_ERRORS_BY_PHRASE: _PhraseTable = (
    (_CONTEXT_PHRASES, ContextTooLong),
    (("insufficient_quota", "insufficient credit", "exceeded your current quota"), OutOfCredit),
    (("not support tool", "that support tool", "not support function"), ToolsUnsupported),
    (("invalid_api_key", "api key not valid", "authentication_error"), KeyRefused),
)
_UNKNOWN_MODEL_PATTERN = re.compile(
    r"model_not_found|model_not_available|invalid_model|unknown_model"
    r"|invalid model(?: name| id|:)|unknown model(?: name| id|:)|no such model|not a valid model"
    r"|\bmodel\b[\s:]*(?:[^\s]{1,220}\s+)?(?:is |was |does )?"
    r"(?:not (?:found|exist)|doesn't exist|no longer available)"
)
"""How endpoints say it, many with status 400. After "model" only its name may stand."""
_STREAM_ERRORS_BY_PHRASE: _PhraseTable = (
    (("rate_limit", "rate limit"), RateLimited),
    (("timeout", "timed out"), TimedOut),
    (("invalid_request",), RequestRefused),
)

_BAD_REQUEST_STATUSES = (400, 422)
_AMBIGUOUS_STATUSES = {404: (ToolsUnsupported, UnknownModel), 429: (OutOfCredit,)}
"""Statuses that some endpoints also use for something else."""


def error_for_response(
    status: int,
    body: bytes = b"",
    retry_after: float | None = None,
    options: Options = MappingProxyType({}),
) -> EndpointError:
    """Return the error for a response that is no answer.

    `options`: what we could do without, each with the words by which endpoints refuse it.
    """
    if 300 <= status < 400:
        return Redirected()
    said = _parse_body(body)
    words = (
        _get_error_text(said)
        if status in _BAD_REQUEST_STATUSES or status in _AMBIGUOUS_STATUSES
        else ""
    )
    kind = _find_error_class(words)
    if status in _BAD_REQUEST_STATUSES:
        option = _find_refused_option(options, words)
        if option and kind is None:
            return OptionRefused(option)
    elif kind not in _AMBIGUOUS_STATUSES.get(status, ()):
        kind = None
    error = (kind or _error_class_for_status(status))(retry_after=retry_after)
    error.detail = _get_loggable_detail(said)
    return error


def _find_refused_option(options: Options, words: str) -> str | None:
    refused = (option for option, names in options.items() if any(name in words for name in names))
    return next(refused, None)


def error_for_stream_object(error: object) -> EndpointError:
    """Return the error for an error object inside an answer that began with status 200."""
    status = _parse_status(error)
    words = _get_error_text({"error": error})
    kind = _find_error_class(words) or _match_phrases(words, _STREAM_ERRORS_BY_PHRASE)
    made = (kind or (_error_class_for_status(status) if status else Overloaded))()
    made.detail = _get_loggable_detail({"error": error})
    return made


def _error_class_for_status(status: int) -> type[EndpointError]:
    if status >= 500 and status != 501:
        return Overloaded
    if 400 <= status < 500 or status == 501:
        return _ERRORS_BY_STATUS.get(status, RequestRefused)
    return BadResponse


def _find_error_class(words: str) -> type[EndpointError] | None:
    return _match_phrases(words, _ERRORS_BY_PHRASE) or (
        UnknownModel if _UNKNOWN_MODEL_PATTERN.search(words) else None
    )


def _match_phrases(words: str, table: _PhraseTable) -> type[EndpointError] | None:
    kinds = (kind for needles, kind in table if any(needle in words for needle in needles))
    return next(kinds, None)


def _parse_body(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return body.decode(errors="replace")


def _get_error_text(body: object) -> str:
    """Return message, code, type and parameter of an error body, in lower case."""
    error = _get_error_object(body)
    if isinstance(error, dict):
        error = " ".join(
            str(error[key]) for key in (*_ERROR_FIELDS, "detail", "metadata") if error.get(key)
        )
    return str(error or "").lower()


def _get_loggable_detail(body: object) -> str:
    """Return what of an error body may be logged: never all, nor what it quotes of the request."""
    error = _get_error_object(body)
    if not isinstance(error, dict):
        return error if isinstance(error, str) and not isinstance(body, str) else ""
    told = (error.get(key) for key in (*_ERROR_FIELDS, "detail"))
    return " ".join(str(value) for value in told if value and isinstance(value, str | int))


_ERROR_FIELDS = ("message", "code", "type", "param")


def _get_error_object(body: object) -> object:
    """Return the error object of a body, or what stands in its place."""
    if isinstance(body, list) and body:
        body = body[0]
    if isinstance(body, dict):
        return body.get("error") or body
    return body if isinstance(body, str) else None


def _parse_status(error: object) -> int | None:
    code = error.get("code", error.get("status")) if isinstance(error, dict) else None
    try:
        status = int(code) if isinstance(code, int | str) else 0
    except ValueError:
        return None
    return status if 400 <= status < 600 else None
