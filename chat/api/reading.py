"""Bodies and queries of strangers: read strictly, or refused with a sentence that helps.

What JSON leaves open is closed here: a key given twice, NaN, halves of characters, endless numbers
and endless nesting are refused, because two programs would read them in two ways.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any, NoReturn, TypeVar

from django.http import HttpRequest
from django.http.request import RawPostDataException
from pydantic import BaseModel, ValidationError

from agents.core.config import LIMITS, AgentConfig, ConfigError
from chat.api.errors import Problem, Refused, refused

Model = TypeVar("Model", bound=BaseModel)
MOST_BYTES = 64 * 1024
JSON = "application/json"
SENTENCES = {
    "missing": "This field is required.",
    "extra_forbidden": "There is no such field here. Check its spelling against /api/openapi.json.",
    "json_invalid": "The body is not JSON.",
}


class _Refused(ValueError):
    """Well-formed to some parsers, not to this one."""


def body_of(request: HttpRequest, kind: type[Model]) -> Model:
    """The body as a model. ValidationError names every field that is wrong; Refused the rest."""
    raw = _raw(request)
    if not raw and not any(field.is_required() for field in kind.model_fields.values()):
        return kind()  # nothing to say is the same as an empty object
    if request.content_type != JSON:
        raise refused(
            415, ("header", "content-type"), f"Send the body as {JSON}.", "unsupported_media_type"
        )
    _refuse_odd(raw)
    return kind.model_validate_json(raw)


def query_of(request: HttpRequest, kind: type[Model]) -> Model:
    for name, values in request.GET.lists():
        if len(values) > 1:
            raise refused(422, ("query", name[:64]), "Give this once.", "repeated")
    return kind.model_validate(request.GET.dict())


def _raw(request: HttpRequest) -> bytes:
    too_large = refused(
        413, ("body",), f"The body may have {MOST_BYTES:,} bytes at most.", "too_large"
    )
    length = request.headers.get("Content-Length", "")
    if length.isdecimal() and len(length) < 20 and int(length) > MOST_BYTES:
        raise too_large
    try:
        raw = request.read(MOST_BYTES + 1)
    except (RawPostDataException, OSError):
        raise refused(422, ("body",), "The body could not be read.", "json_invalid") from None
    if len(raw) > MOST_BYTES:
        raise too_large
    return raw


def _refuse_odd(raw: bytes) -> None:
    try:
        data = json.loads(raw.decode(), object_pairs_hook=_once, parse_constant=_no_constant)
    except UnicodeDecodeError:
        problem = "The body is not UTF-8."
    except RecursionError:
        problem = "The body is nested too deeply."
    except _Refused as error:
        problem = str(error)
    except json.JSONDecodeError as error:
        problem = f"The body is not JSON: {error.msg}, line {error.lineno}, column {error.colno}."
    except ValueError:
        problem = f"A number has more than {sys.get_int_max_str_digits():,} digits."
    else:
        if isinstance(data, dict) and not any(map(_is_torn, _texts(data))):
            return
        problem = (
            "A text has half of a character in it (a lone surrogate). Send whole characters."
            if isinstance(data, dict)
            else "Send one JSON object, in braces."
        )
    raise refused(422, ("body",), problem, "json_invalid")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise _Refused(f"{json.dumps(name[:64])} is given twice.")
        made[name] = value
    return made


def _no_constant(name: str) -> NoReturn:
    raise _Refused(f"{name} is no JSON number.")


def _texts(value: Any) -> Iterator[str]:
    """Every text in it, however deep, without recursion."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
            case dict() as held:
                waiting += [*held.keys(), *held.values()]
            case list() as held:
                waiting += held
            case _:
                pass


def _is_torn(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


# -- what is wrong --------------------------------------------------------------------------------


def names_limits(error: ValidationError) -> bool:
    return any(_limit_of(found["loc"]) for found in error.errors())


def invalid(error: ValidationError, part: str, in_force: AgentConfig | None) -> Refused:
    """Every problem of a body or query; limits say their bounds and the value still in force."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    problems = (
        _problem((part, *each["loc"]), each["type"], each["msg"], in_force) for each in found
    )
    return Refused(422, list(dict.fromkeys(problems)))


def _problem(
    loc: tuple[str | int, ...], kind: str, msg: str, in_force: AgentConfig | None
) -> Problem:
    loc = tuple(part[:64] if isinstance(part, str) else part for part in loc)
    limit = _limit_of(loc)
    if limit and kind == "missing":
        msg = f"This limit is required: give {LIMITS[limit].bounds}, or use PATCH for some."
    elif limit:
        msg = _bounds(limit, in_force)
    else:
        msg = SENTENCES.get(kind, f"{msg}.")
    return Problem(loc, msg, kind)


def _limit_of(loc: tuple[str | int, ...]) -> str:
    return next((str(part) for part in loc[-1:] if part in LIMITS), "")


def _bounds(name: str, in_force: AgentConfig | None) -> str:
    try:
        AgentConfig.build({name: None}, in_force)
    except ConfigError as error:
        return error.problems[name]
    raise AssertionError("no limit is allowed to be nothing")
