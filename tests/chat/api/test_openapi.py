"""The document says everything: every route, parameter, body, status, and field of AgentConfig."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args
from uuid import UUID

import jsonschema_rs
import pytest
from django.urls import URLPattern

from agents.core.chunks import OracleStreamChunk, to_dict
from agents.core.config import LIMITS, AgentConfigBounds
from agents.models.api_tokens import Scope
from chat.api import schemas
from chat.api.framework import Endpoint
from chat.api.openapi import STATUS_DESCRIPTIONS, build_document, openapi_path
from chat.api.urls import ENDPOINTS, urlpatterns
from tests.chat.api.api_client import Caller, refusal
from tests.support.script import call, say

DOCS = Path(__file__).resolve().parents[3] / "docs"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
DOCUMENT = json.loads(json.dumps(build_document(ENDPOINTS)))
COMPONENTS = DOCUMENT["components"]["schemas"]
MODELS: dict[str, Any] = {
    "AgentConfigView": schemas.AgentConfigView,
    "AgentConfigPut": schemas.AgentConfigPut,
    "AgentConfigPatch": schemas.AgentConfigPatch,
    "Overrides": schemas.Overrides,
}


def lacking(limit: AgentConfigBounds, place: str, about: Any) -> str:
    """What is missing of a limit at a place of the document, if anything."""
    if about is None:
        return f"{limit.name} is missing in {place}"
    wanted = {"type": "integer", "minimum": limit.minimum, "maximum": limit.maximum,
              "title": limit.label}  # fmt: skip
    other = [name for name, value in wanted.items() if about.get(name) != value]
    if limit.help not in about.get("description", ""):
        other.append("description")
    return f"{limit.name} in {place} has another {', '.join(other)}" if other else ""


@pytest.mark.parametrize("limit", LIMITS.values(), ids=lambda limit: limit.name)
def test_every_limit_is_everywhere_as_it_is_defined(limit: AgentConfigBounds) -> None:
    missing = [
        lacking(limit, f"OpenAPI {name}", COMPONENTS[name]["properties"].get(limit.name))
        for name in MODELS
    ]
    missing += [
        f"{limit.name} is missing in the model {name}"
        for name, model in MODELS.items()
        if limit.name not in model.model_fields
    ]
    if limit.name not in COMPONENTS["LimitName"]["enum"]:
        missing.append(f"{limit.name} is missing in OpenAPI LimitName: it cannot be reset")
    assert [each for each in missing if each] == []
    for name in ("AgentConfigView", "AgentConfigPut"):
        assert limit.name in COMPONENTS[name]["required"], f"{limit.name} in {name}"
    for name in ("AgentConfigPatch", "Overrides"):
        assert limit.name not in COMPONENTS[name].get("required", []), f"{limit.name} in {name}"


def test_a_limit_that_is_missing_would_be_named() -> None:
    limit = next(iter(LIMITS.values()))
    assert lacking(limit, "there", None) == f"{limit.name} is missing in there"
    about = {**COMPONENTS["Overrides"]["properties"][limit.name], "maximum": 7}
    assert lacking(limit, "there", about) == f"{limit.name} in there has another maximum"


def test_nothing_but_limits_can_be_set() -> None:
    for name in ("AgentConfigView", "AgentConfigPut", "AgentConfigPatch"):
        assert set(COMPONENTS[name]["properties"]) == {*LIMITS, "version"}
    assert set(COMPONENTS["Overrides"]["properties"]) == set(LIMITS)


# -- routes ---------------------------------------------------------------------------------------


def served() -> Iterator[str]:
    """The addresses that Django serves, as the document would write them."""
    for pattern in urlpatterns:
        assert isinstance(pattern, URLPattern)
        if route := str(pattern.pattern).removeprefix("^"):
            yield "/api/" + re.sub(r"<\w+:(\w+)>", r"{\1}", route)


def test_every_address_that_is_served_is_documented_and_the_other_way_round() -> None:
    assert set(served()) == set(DOCUMENT["paths"])


@pytest.mark.django_db(transaction=True)
async def test_every_method_that_is_not_documented_is_refused(ada: Caller) -> None:
    for where, operations in DOCUMENT["paths"].items():
        numbered = re.sub(r"{((user|invitation)_id|number)}", "0", where)
        named = re.sub(r"{\w+}", "00000000-0000-0000-0000-000000000000", numbered)
        there = f"https://127.0.0.1{named}"
        for method in METHODS:
            response = await ada(method, there)
            if method.lower() in operations:
                assert response.status_code != 405, f"{method} {where}"
            else:
                assert response.status_code == 405, f"{method} {where} is not documented"
                allowed = response.headers["allow"].split(", ")
                assert {name.lower() for name in allowed} == set(operations)
                if method != "HEAD":
                    refusal(response, 405)


@pytest.mark.parametrize("found", ENDPOINTS, ids=lambda found: found.name)
def test_an_operation_says_all_there_is_to_know(found: Endpoint) -> None:
    told = DOCUMENT["paths"][openapi_path(found)][found.method.lower()]
    assert told["operationId"] == found.name
    assert told["summary"]
    named = {each["name"] for each in told["parameters"]}
    assert named == {
        *re.findall(r":(\w+)>", found.path),
        *found.query.model_fields,
        *found.headers,
    }
    assert ("requestBody" in told) is (found.takes is not None)
    assert set(told["responses"]) == {str(each) for each in (*found.answers, *found.statuses)}
    assert told["security"] == [{"token": [scope]} for scope in found.scopes]


def test_a_stream_is_a_string_that_no_client_reads_as_json() -> None:
    streams = [
        content["text/event-stream"]["schema"]["type"]
        for operations in DOCUMENT["paths"].values()
        for told in operations.values()
        for response in told["responses"].values()
        if "text/event-stream" in (content := response.get("content", {}))
    ]
    assert streams == ["string", "string"]


def test_names_of_operations_are_their_own() -> None:
    names = [each.name for each in ENDPOINTS]
    assert len(names) == len(set(names))


def test_everything_that_is_referred_to_is_there() -> None:
    def refs(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            yield from ([value["$ref"]] if isinstance(value.get("$ref"), str) else [])
            for held in value.values():
                yield from refs(held)
        elif isinstance(value, list):
            for held in value:
                yield from refs(held)

    for ref in refs(DOCUMENT):
        found: Any = DOCUMENT
        for part in ref.removeprefix("#/").split("/"):
            found = found[part]


def test_scopes_and_refusals_are_explained() -> None:
    said = DOCUMENT["components"]["securitySchemes"]["token"]["description"]
    assert all(f"`{scope}`" in said for scope in Scope.values)
    used = {status for each in ENDPOINTS for status in each.statuses}
    assert used == set(STATUS_DESCRIPTIONS)


# -- the document itself --------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
async def test_anybody_may_read_the_document(ada: Caller) -> None:
    response = await ada.http.get("openapi.json")
    assert response.status_code == 200
    assert response.json() == DOCUMENT
    assert response.json()["openapi"] == "3.1.0"


@pytest.mark.django_db(transaction=True)
async def test_chunks_are_as_the_document_says(ada: Caller) -> None:
    ada.chat.model.steps.extend([call("look"), say("So."), call("look"), say("Cut.")])
    schema = {"$ref": "#/components/schemas/Chunk", "components": DOCUMENT["components"]}
    seen: set[str] = set()
    for limits in ({}, {"max_iterations": 2}):
        run = await ada("POST", "oracle", json={"question": "What is it?", "overrides": limits})
        assert run.json()["outcome"]
    for run in (await ada("GET", "conversations")).json()["conversations"]:
        shown = (await ada("GET", f"conversations/{run['id']}")).json()["exchanges"]
        async for chunk in ada.chat.runtime.follow(UUID(shown[0]["run"]["id"])):
            jsonschema_rs.validate(schema, to_dict(chunk))
            seen.add(chunk.type)
    assert {"content", "tool_call", "tool_result", "turn", "decision", "system", "done"} <= seen


def test_every_kind_of_chunk_is_in_the_document() -> None:
    mapping = COMPONENTS["Chunk"]["discriminator"]["mapping"]
    assert set(mapping) == {kind.type for kind in get_args(OracleStreamChunk)}


# -- the page for people --------------------------------------------------------------------------


def test_the_page_names_every_address_with_its_method() -> None:
    page = (DOCS / "api.md").read_text()
    missing = [
        f"{each.method} {openapi_path(each)}"
        for each in ENDPOINTS
        if f"`{each.method} {openapi_path(each)}`" not in page
    ]
    assert missing == []


def test_the_page_explains_every_scope_and_every_refusal() -> None:
    page = (DOCS / "api.md").read_text()
    assert [scope for scope in Scope.values if f"| `{scope}` |" not in page] == []
    assert [status for status in STATUS_DESCRIPTIONS if f"| {status} |" not in page] == []
