"""Bodies and queries of strangers: read strictly, or refused with a sentence that helps.

What JSON leaves open is closed here: a key given twice, NaN, halves of characters, endless numbers
and endless nesting are refused, because two programs would read them in two ways.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, TypeVar

from django.http import HttpRequest
from django.http.request import RawPostDataException
from pydantic import BaseModel, ValidationError

from agents.core.config import CAMEL_CASE_NAMES, LIMITS, describe_double
from chat.api.errors import ApiError, ErrorDetail, api_error
from chat.api.refusal_hints import ALL_SETTING_NAMES

Model = TypeVar("Model", bound=BaseModel)
MAX_BODY_BYTES = 64 * 1024
JSON = "application/json"
MESSAGES = {
    "missing": "This field is required.",
    "extra_forbidden": "There is no such field. Check its spelling against /api/openapi.json.",
    "json_invalid": "The body is not JSON.",
}


class _RejectedJson(ValueError):
    """Well-formed to some parsers, not to this one."""


def parse_body(request: HttpRequest, kind: type[Model]) -> Model:
    """Return the body as a model, or ValidationError with every wrong field, or ApiError."""
    raw = _read_body(request)
    if not raw and not any(field.is_required() for field in kind.model_fields.values()):
        return kind()  # nothing to say is the same as an empty object
    if request.content_type != JSON:
        raise api_error(
            415, ("header", "content-type"), f"Send the body as {JSON}.", "unsupported_media_type"
        )
    _check_json(raw)
    return kind.model_validate_json(raw)


def parse_query(request: HttpRequest, kind: type[Model]) -> Model:
    for name, values in request.GET.lists():
        if len(values) > 1:
            raise api_error(422, ("query", name[:64]), "Give this once.", "repeated")
    return kind.model_validate(request.GET.dict())


def _read_body(request: HttpRequest) -> bytes:
    too_large = api_error(
        413, ("body",), f"The body may have {MAX_BODY_BYTES:,} bytes at most.", "too_large"
    )
    length = request.headers.get("Content-Length", "")
    if length.isdecimal() and len(length) < 20 and int(length) > MAX_BODY_BYTES:
        raise too_large
    try:
        raw = request.read(MAX_BODY_BYTES + 1)
    except (RawPostDataException, OSError):
        raise api_error(422, ("body",), "The body could not be read.", "json_invalid") from None
    if len(raw) > MAX_BODY_BYTES:
        raise too_large
    return raw


def _check_json(raw: bytes) -> None:
    try:
        data = json.loads(
            raw.decode(), object_pairs_hook=_reject_duplicates, parse_constant=_reject_constant
        )
    except UnicodeDecodeError:
        problem = "The body is not UTF-8."
    except RecursionError:
        problem = "The body is nested too deeply."
    except _RejectedJson as error:
        problem = str(error)
    except json.JSONDecodeError as error:
        problem = f"The body is not JSON: {error.msg}, line {error.lineno}, column {error.colno}."
    except ValueError:
        problem = f"A number has more than {sys.get_int_max_str_digits():,} digits."
    else:
        if isinstance(data, dict) and not any(map(_has_lone_surrogate, _iter_strings(data))):
            return
        problem = (
            "A text contains a lone surrogate. Send valid Unicode."
            if isinstance(data, dict)
            else "Send one JSON object, in braces."
        )
    raise api_error(422, ("body",), problem, "json_invalid")


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise _RejectedJson(f"{json.dumps(name[:64])} is given twice.")
        made[name] = value
    return made


def _reject_constant(name: str) -> NoReturn:
    raise _RejectedJson(f"{name} is no JSON number.")


def _iter_strings(value: Any) -> Iterator[str]:
    """Yield every text in it, however deep, without recursion."""
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


def _has_lone_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


# -- what is wrong --------------------------------------------------------------------------------


def find_setting_names(error: ValidationError) -> set[str]:
    """Return the limits and other settings that something is wrong with."""
    return set(filter(None, (_get_setting(found["loc"]) for found in error.errors())))


def validation_error(error: ValidationError, part: str, messages: Mapping[str, str]) -> ApiError:
    """Return every problem of a body or query; settings are refused in their own words."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    problems = (
        _build_detail((part, *each["loc"]), each["type"], each["msg"], messages) for each in found
    )
    return ApiError(422, list(dict.fromkeys(problems)))


def _build_detail(
    loc: tuple[str | int, ...], kind: str, msg: str, messages: Mapping[str, str]
) -> ErrorDetail:
    loc = tuple(part[:64] if isinstance(part, str) else part for part in loc)
    setting = _get_setting(loc)
    if setting in LIMITS and kind == "missing":
        msg = f"This limit is required: give {LIMITS[setting].range_text}, or use PATCH for some."
    elif setting in messages:
        msg = messages[setting]
    elif kind == "extra_forbidden" and loc[-1] in CAMEL_CASE_NAMES:
        msg = describe_double(str(loc[-1]))
    else:
        msg = MESSAGES.get(kind, f"{msg}.")
    return ErrorDetail(loc, msg, kind)


def _get_setting(loc: tuple[str | int, ...]) -> str:
    return next((str(part) for part in loc[-1:] if part in ALL_SETTING_NAMES), "")
