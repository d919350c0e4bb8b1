"""The OpenAPI document: made from the route table and the models, so that it cannot lag behind."""

import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from agents.models.api_tokens import Scope
from chat.api import throttling
from chat.api.chunk_schemas import build_chunk_schemas
from chat.api.framework import Endpoint
from chat.api.parsing import JSON, MAX_BODY_BYTES
from chat.api.schemas import Problems
from chat.api.sse import MEDIA_TYPE

API_VERSION = "1.0.0"
PATH_PARAMETER = re.compile(r"<(\w+):(\w+)>")
PARAMETER_TYPES = {
    "uuid": {"type": "string", "format": "uuid"},
    "int": {"type": "integer", "minimum": 0},
    "str": {"type": "string", "minLength": 1, "pattern": "^[^/]+$"},
}
REF_TEMPLATE = "#/components/schemas/{model}"
DESCRIPTION = """\
Ask Oracle, follow runs, read conversations and change limits.

Every request carries a token (`Authorization: Bearer oracle_...`); tokens and their scopes are made
in the settings. Every refusal has the same body: `{"detail": [{"loc", "msg", "type"}]}`.
"""
STATUS_DESCRIPTIONS = {
    400: "The host is not one of this site, or this cannot be changed; the message says why.",
    401: "No token, or one that is unknown or revoked.",
    403: "The token lacks the scope that this needs; or the request came without HTTPS.",
    404: "You have no such thing.",
    409: "Not now, or not any more: the message says why, `ctx` what is in force.",
    413: f"The body has more than {MAX_BODY_BYTES:,} bytes.",
    415: f"The body is not {JSON}.",
    422: "A field is wrong: `loc` names it. Nothing was stored.",
    429: "Too many requests, runs or streams. `Retry-After` says when to come back.",
    500: "An error in Oracle.",
    503: "The server is stopping, or its database does not answer.",
}
HEADERS = {
    "WWW-Authenticate": ("How to authenticate.", "string"),
    "Retry-After": ("Seconds to wait before trying again.", "integer"),
    "RateLimit-Limit": ("Requests of this kind that a token may make in a minute.", "integer"),
    "RateLimit-Remaining": ("How many are left now.", "integer"),
    "RateLimit-Reset": ("Seconds until all of them are available again.", "integer"),
    "ETag": ("The version, for If-Match.", "string"),
}
ERROR_HEADERS = {401: ["WWW-Authenticate"], 429: ["Retry-After"], 503: ["Retry-After"]}
RATE_LIMIT_HEADERS = ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"]
EVENT_SCHEMA = {
    "type": "object",
    "description": "One chunk is one event; lines that begin with a colon are comments.",
    "properties": {
        "id": {"type": "string", "description": "The chunk's seq: resume after it."},
        "event": {"type": "string", "description": "The chunk's type."},
        "data": {
            "type": "string",
            "contentMediaType": JSON,
            "contentSchema": {"$ref": "#/components/schemas/Chunk"},
        },
    },
    "required": ["id", "event", "data"],
}
STREAM_SCHEMA = {
    "type": "string",
    "description": "Server-sent events until the run's end, each as the schema Event says.",
}
"""OpenAPI 3.1 has no word for streams: clients made from anything else than a string try to read
the whole of it as JSON. What 3.2 calls `itemSchema` stands beside it, by a name that 3.1 allows."""

Json = dict[str, Any]


def build_document(endpoints: Iterable[Endpoint]) -> Json:
    listed = list(endpoints)
    schemas = _Schemas(listed)
    paths: dict[str, Json] = {}
    for each in listed:
        paths.setdefault(openapi_path(each), {})[each.method.lower()] = _build_operation(
            each, schemas
        )
    return {
        "openapi": "3.1.0",
        "info": {"title": "Oracle", "version": API_VERSION, "description": DESCRIPTION},
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": {**schemas.components, **build_chunk_schemas(), "Event": EVENT_SCHEMA},
            "headers": {
                name: {"description": told, "schema": {"type": kind}}
                for name, (told, kind) in HEADERS.items()
            },
            "responses": {
                str(status): _build_error_response(status) for status in STATUS_DESCRIPTIONS
            },
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "Scopes: "
                    + ". ".join(f"`{scope}`: {scope.label}" for scope in Scope)
                    + ".",
                }
            },
        },
    }


def openapi_path(found: Endpoint) -> str:
    return "/api/" + PATH_PARAMETER.sub(r"{\2}", found.path)


class _Schemas:
    """The models of all endpoints as components, and references to them."""

    def __init__(self, endpoints: list[Endpoint]) -> None:
        taken = [each.takes for each in endpoints if each.takes is not None]
        given = [
            kind for each in endpoints for kind in each.answers.values() if isinstance(kind, type)
        ]
        models: list[Any] = [
            *((kind, "validation") for kind in dict.fromkeys(taken)),
            *((kind, "serialization") for kind in dict.fromkeys([*given, Problems])),
        ]
        self._refs, made = models_json_schema(models, ref_template=REF_TEMPLATE)
        self.components: Json = made["$defs"]

    def request_ref(self, kind: type[BaseModel]) -> Json:
        return self._refs[kind, "validation"]

    def response_ref(self, kind: type[BaseModel]) -> Json:
        return self._refs[kind, "serialization"]


def _build_operation(found: Endpoint, schemas: _Schemas) -> Json:
    made: Json = {
        "operationId": found.name,
        "summary": found.summary,
        "tags": [found.path.partition("/")[0]],
        "parameters": [
            *_path_parameters(found),
            *_query_parameters(found),
            *_header_parameters(found),
        ],
        "responses": {
            **{
                str(s): _build_response(found, s, kind, schemas)
                for s, kind in found.answers.items()
            },
            **{str(s): {"$ref": f"#/components/responses/{s}"} for s in found.statuses},
        },
        "security": [{"token": [scope]} for scope in found.scopes],
    }
    if found.handler.__doc__:
        made["description"] = found.handler.__doc__
    if found.scopes:
        made["x-requests-per-minute"] = throttling.get_per_minute(found.rate)
    if found.takes is not None:
        required = any(field.is_required() for field in found.takes.model_fields.values())
        content = {JSON: {"schema": schemas.request_ref(found.takes)}}
        made["requestBody"] = {"required": required, "content": content}
    return made


def _path_parameters(found: Endpoint) -> list[Json]:
    return [
        {"name": name, "in": "path", "required": True, "schema": PARAMETER_TYPES[kind]}
        for kind, name in PATH_PARAMETER.findall(found.path)
    ]


def _query_parameters(found: Endpoint) -> list[Json]:
    schema = found.query.model_json_schema(mode="validation")
    required = schema.get("required", ())
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _drop_null(about)}
        for name, about in schema.get("properties", {}).items()
    ]


def _drop_null(about: Json) -> Json:
    """Drop null: an address can leave something out, not say null."""
    kinds = [kind for kind in about.get("anyOf", []) if kind != {"type": "null"}]
    if not kinds:
        return about
    rest = {name: value for name, value in about.items() if name not in ("anyOf", "default")}
    return {**kinds[0], **rest}


def _header_parameters(found: Endpoint) -> list[Json]:
    return [
        {
            "name": name,
            "in": "header",
            "required": False,
            "description": meaning,
            "schema": {"type": "string"} | ({"pattern": "^[0-9]{0,9}$"} if "ID" in name else {}),
        }
        for name, meaning in found.headers.items()
    ]


def _build_response(
    found: Endpoint, status: int, kind: "type[BaseModel] | str | None", schemas: _Schemas
) -> Json:
    made: Json = {"description": HTTPStatus(status).phrase}
    names = [
        *(RATE_LIMIT_HEADERS if found.scopes else []),
        *(["ETag"] if _has_version(kind) else []),
    ]
    if names:
        made["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in names}
    if isinstance(kind, str):
        made["content"] = {media: _media_content(media) for media in kind.split(", ")}
    elif kind is not None:
        made["content"] = {JSON: {"schema": schemas.response_ref(kind)}}
    return made


def _has_version(kind: "type[BaseModel] | str | None") -> bool:
    return isinstance(kind, type) and "version" in kind.model_fields


def _media_content(media: str) -> Json:
    if media == MEDIA_TYPE:
        return {"schema": STREAM_SCHEMA, "x-itemSchema": {"$ref": "#/components/schemas/Event"}}
    return {"schema": {"type": "object"} if media == JSON else {"type": "string"}}


def _build_error_response(status: int) -> Json:
    made: Json = {
        "description": STATUS_DESCRIPTIONS[status],
        "content": {JSON: {"schema": {"$ref": REF_TEMPLATE.format(model=Problems.__name__)}}},
    }
    if names := ERROR_HEADERS.get(status):
        made["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in names}
    return made
