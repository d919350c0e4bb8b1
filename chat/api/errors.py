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

from agents.core.config import ConfigError
from agents.runtime.requests import ConversationBusy, RunRefused, TooManyRuns
from chat.errors import CannotDo, NotYours

log = logging.getLogger(__name__)

Place = tuple[str | int, ...]
OUR_FAULT = "Something went wrong here. It was written to the server's log; try again."
NO_DATABASE = "The database does not answer. Try again in a moment."


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. `about` is for programs: what is in force instead, and the like."""

    loc: Place
    msg: str
    type: str
    about: Mapping[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        told: dict[str, Any] = {"loc": list(self.loc), "msg": self.msg, "type": self.type}
        return told if self.about is None else {**told, "ctx": dict(self.about)}


@dataclass
class Refused(Exception):
    """The request is answered with this status, and nothing was done."""

    status: int
    problems: list[Problem]
    headers: Mapping[str, str] = field(default_factory=dict)


def refused(
    status: int,
    loc: Place,
    msg: str,
    kind: str,
    *,
    about: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Refused:
    return Refused(status, [Problem(loc, msg, kind, about)], headers or {})


def response_of(refusal: Refused) -> HttpResponse:
    detail = [problem.as_dict() for problem in refusal.problems]
    return JsonResponse({"detail": detail}, status=refusal.status, headers=dict(refusal.headers))


def refusal_of(error: Exception, place: Place) -> Refused:
    """What to answer when something was raised; `place` is where the request named its object."""
    match error:
        case Refused():
            return error
        case NotYours():
            return refused(404, place, str(error), "not_found")
        case CannotDo() | ConversationBusy():
            return refused(409, place, str(error), "conflict")
        case TooManyRuns():
            return refused(
                429, ("body",), str(error), "too_many_runs", headers={"Retry-After": "5"}
            )
        case RunRefused():
            return unavailable(str(error))
        case ConfigError():
            return Refused(422, list(limit_problems(error, ("body",))))
        case ValidationError():
            return refused(422, ("body",), " ".join(error.messages), "value_error")
        case DisallowedHost():
            return refused(400, ("header", "host"), "This host is not served here.", "host")
        case DatabaseError():
            log.warning("an API request met a database that does not answer: %s", error)
            return unavailable(NO_DATABASE)
        case _:
            log.error("an API request failed", exc_info=error)
            return refused(500, (), OUR_FAULT, "server_error")


def unavailable(msg: str) -> Refused:
    return refused(503, (), msg, "unavailable", headers={"Retry-After": "2"})


def limit_problems(error: ConfigError, place: Place) -> Iterable[Problem]:
    for name, sentence in error.problems.items():
        yield Problem((*place, name), sentence, "limit")
