"""Every refusal has one shape: `{"detail": [{"loc": [...], "msg": ..., "type": ...}]}`.

A sentence for people in `msg`, a word for programs in `type`, and where to look in `loc`.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import DisallowedHost, ValidationError
from django.db import Error as DatabaseError
from django.http import HttpResponse, JsonResponse

from agents.code.service import CodeError
from agents.core.behaviours import InvalidBehaviour
from agents.core.config import LIMITS, ConfigError
from agents.core.control.problems import InvalidText
from agents.core.control.toml import InvalidToml
from agents.endpoints.model_settings import UnusableConfigError
from agents.projects.errors import (
    InvalidName,
    ProjectForbidden,
    ProjectNotFound,
    ProjectRefused,
)
from agents.runtime import ConversationBusy, ProjectClosed, RunRefused, TooManyRuns
from agents.stored_texts import TextConflict, TextLocked, TextNotFound, TextRefused
from agents.vault.errors import (
    ThreadArchived,
    ThreadNameRefused,
    ThreadRefused,
    ThreadUnavailable,
)
from agents.web.throttling import WINDOW_SECONDS, Throttled
from chat.errors import InvalidAction, NotFoundForUser

logger = logging.getLogger(__name__)

Location = tuple[str | int, ...]
SERVER_ERROR_MESSAGE = "Something went wrong. The error is in the server's log; try again."
NO_DATABASE_MESSAGE = "The database does not answer. Try again in a moment."
_HERE: Location = ()
"""Where the request named its object."""
_REFUSALS: tuple[tuple[tuple[type[Exception], ...], int, Location, str], ...] = (
    ((NotFoundForUser, ProjectNotFound, TextNotFound), 404, _HERE, "not_found"),
    ((ThreadUnavailable, ThreadNameRefused), 404, _HERE, "not_found"),
    ((CodeError,), 404, ("query",), "not_found"),  # a file, folder, language or name
    ((ProjectForbidden, TextLocked), 403, _HERE, "forbidden"),
    ((ThreadArchived,), 409, _HERE, "conflict"),
    ((ThreadRefused,), 422, ("body",), "value_error"),
    ((InvalidName,), 422, ("body", "name"), "value_error"),
    ((InvalidAction, ConversationBusy, ProjectClosed, ProjectRefused), 409, _HERE, "conflict"),
    ((TextRefused,), 409, ("body",), "conflict"),
)
"""What says itself what is wrong: its status, where to look, and a word for programs. The first
that an exception is counts."""


@dataclass(frozen=True, slots=True)
class ErrorDetail:
    """One thing that is wrong. `context` is for programs: what is in force instead, and so on."""

    loc: Location
    msg: str
    type: str
    context: Mapping[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        told: dict[str, Any] = {"loc": list(self.loc), "msg": self.msg, "type": self.type}
        return told if self.context is None else {**told, "ctx": dict(self.context)}


@dataclass
class ApiError(Exception):
    """The request is answered with this status, and nothing was done."""

    status: int
    details: list[ErrorDetail]
    headers: Mapping[str, str] = field(default_factory=dict)


def api_error(
    status: int,
    loc: Location,
    msg: str,
    kind: str,
    *,
    context: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> ApiError:
    return ApiError(status, [ErrorDetail(loc, msg, kind, context)], headers or {})


def error_response(error: ApiError) -> HttpResponse:
    detail = [problem.as_dict() for problem in error.details]
    return JsonResponse({"detail": detail}, status=error.status, headers=dict(error.headers))


def error_for(error: Exception, loc: Location) -> ApiError:
    """Return what to answer to an exception; `loc` is where the request named its object."""
    for kinds, status, place, word in _REFUSALS:
        if isinstance(error, kinds):
            return api_error(status, place or loc, str(error), word)
    match error:
        case ApiError():
            return error
        case TextConflict(row=row):
            present = {"version": row.version, "text": row.text}
            return api_error(409, ("body", "version"), str(error), "conflict", context=present)
        case InvalidToml():
            return ApiError(409, list(_text_details(error, "not_a_rule")))
        case InvalidBehaviour():
            return ApiError(409, list(_text_details(error, "not_a_behaviour")))
        case UnusableConfigError():
            return ApiError(409, list(setting_details(error, "conflict")))
        case ConfigError():
            return ApiError(422, list(setting_details(error)))
        case ValidationError():
            return api_error(422, ("body",), " ".join(error.messages), "value_error")
        case Throttled():
            return _busy_error(error, "rate_limit", WINDOW_SECONDS)
        case TooManyRuns():
            return _busy_error(error, "too_many_runs", 5)
        case RunRefused():
            return unavailable_error(str(error))
        case _:
            return _site_error(error)


def _busy_error(error: Exception, kind: str, seconds: int) -> ApiError:
    return api_error(429, ("body",), str(error), kind, headers={"Retry-After": str(seconds)})


def _site_error(error: Exception) -> ApiError:
    """Return what to answer where nobody who asked can do anything about it."""
    match error:
        case DisallowedHost():
            return api_error(400, ("header", "host"), "This host is not served here.", "host")
        case DatabaseError():
            logger.warning("an API request met a database that does not answer: %s", error)
            return unavailable_error(NO_DATABASE_MESSAGE)
        case _:
            logger.error("an API request failed", exc_info=error)
            return api_error(500, (), SERVER_ERROR_MESSAGE, "server_error")


def _text_details(error: InvalidText, kind: str) -> Iterable[ErrorDetail]:
    """Tell where a text is wrong. Its form is that of the document, so this is no 422."""
    for problem in error.problems:
        yield ErrorDetail(("body", "text", problem.line, problem.column), problem.message, kind)


def unavailable_error(msg: str) -> ApiError:
    return api_error(503, (), msg, "unavailable", headers={"Retry-After": "2"})


def setting_details(error: ConfigError, kind: str = "") -> Iterable[ErrorDetail]:
    for name, sentence in error.problems.items():
        usual = "limit" if name in LIMITS else "value_error"
        yield ErrorDetail(("body", name), sentence, kind or usual)
