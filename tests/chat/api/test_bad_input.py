"""What strangers send: refused with a sentence that helps, and nothing is stored."""

import json
from itertools import product
from typing import Any

import pytest

from agents.core.config import LIMITS, AgentConfig
from chat.api import throttling
from tests.chat.api.api_client import CONFIG, Caller, refusal

pytestmark = pytest.mark.django_db(transaction=True)

BODIES = {
    b"{": "not JSON",
    b'{"question": "x"': "not JSON",
    b'{"question": "x"} x': "not JSON",
    b"[]": "object",
    b"[1, 2]": "object",
    b"null": "object",
    b'"question"': "object",
    b"15": "object",
    b'{"question": "x", "question": "y"}': "given twice",
    b'{"overrides": {"token_budget": 1, "token_budget": 2}}': "given twice",
    b'{"max_iterations": NaN}': "NaN",
    b'{"max_iterations": -Infinity}': "Infinity",
    b'{"max_iterations": ' + b"9" * 10_000 + b"}": "digits",
    b'{"question": "\\ud83d"}': "surrogate",
    b'{"\\udc00": 1}': "surrogate",
    b'{"question": "\xff"}': "UTF-8",
    '{"question": "x"}'.encode("utf-16"): "UTF-8",
    b'\xef\xbb\xbf{"question": "x"}': "not JSON",
    b'{"question": "x' + b"\x00" + b'"}': "not JSON",
    b'{"overrides": ' + b"[" * 30_000 + b"]" * 30_000 + b"}": "nested",
    b'{"overrides": ' + b'{"a":' * 9_000 + b"1" + b"}" * 9_000 + b"}": "nested",
}
PLACES = [("POST", "oracle"), ("POST", "oracle/stream"), ("PUT", CONFIG), ("PATCH", CONFIG),
          ("POST", f"{CONFIG}/reset")]  # fmt: skip
NO_LIMITS: list[Any] = [
    0, 51, -1, 1.5, 1e9, None, "", "  ", "15", "many", "🙂", True, [], [15], {}, {"value": 15},
    int("9" * 400), "9" * 10_000, 1e308, "<script>", "\u202e15",
]  # fmt: skip


async def test_a_body_that_is_no_plain_object_is_refused(ada: Caller) -> None:
    before = await ada.stored()
    for body, (method, path) in product(BODIES, PLACES):
        throttling.reset()
        (problem,) = refusal(await ada.raw(method, path, body), 422)
        assert BODIES[body] in problem["msg"], (body[:24], method, path)
        assert problem["loc"] == ["body"]
    assert await ada.stored() == before


async def test_a_body_of_another_kind_is_refused(ada: Caller) -> None:
    for method, path in PLACES:
        for kind in ("text/plain", "application/x-www-form-urlencoded", "application/xml", ""):
            response = await ada(method, path, content=b"{}", headers={"Content-Type": kind})
            refusal(response, 415)


async def test_a_body_that_is_too_large_is_refused(ada: Caller) -> None:
    before = await ada.stored()
    large = json.dumps({"question": "x" * 70_000}).encode()
    for method, path in PLACES:
        refusal(await ada.raw(method, path, large), 413)
    assert await ada.stored() == before


@pytest.mark.parametrize("value", NO_LIMITS, ids=lambda value: str(value)[:16])
async def test_what_is_no_limit_is_refused_with_bounds_and_what_is_in_force(
    ada: Caller, value: Any
) -> None:
    before = await ada.stored()
    good = AgentConfig().model_dump()
    for name, limit in list(LIMITS.items())[:: 1 if value in (0, 51) else 6]:
        if value in (0, 51) and limit.minimum <= value <= limit.maximum:
            continue
        bodies: dict[tuple[str, str], Any] = {
            ("PATCH", CONFIG): {name: value},
            ("PUT", CONFIG): {**good, name: value},
            ("POST", "oracle"): {"question": "x", "overrides": {name: value}},
        }
        for (method, path), body in bodies.items():
            (problem,) = refusal(await ada(method, path, json=body), 422)
            assert problem["loc"][-1] == name
            assert problem["msg"] == f"Must be {limit.range_text}. Still using {limit.default:,}."
    assert await ada.stored() == before


@pytest.mark.parametrize("limit", LIMITS.values(), ids=lambda limit: limit.name)
async def test_every_bound_holds_on_both_sides(ada: Caller, limit: Any) -> None:
    for value in (limit.minimum - 1, limit.maximum + 1):
        before = await ada.stored()
        refusal(await ada("PATCH", CONFIG, json={limit.name: value}), 422)
        assert await ada.stored() == before
    for value in (limit.minimum, limit.maximum):
        got = await ada("PATCH", CONFIG, json={limit.name: value})
        assert got.json()[limit.name] == value


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({}, "question"),
        ({"question": ""}, "question"),
        ({"question": " \n\t"}, "question"),
        ({"question": None}, "question"),
        ({"question": ["x"]}, "question"),
        ({"question": 5}, "question"),
        ({"question": "x" * 16_001}, "question"),
        ({"question": "x", "colour": "red"}, "colour"),
        ({"question": "x", "is_admin": True}, "is_admin"),
        ({"question": "x", "tree": "oak"}, "tree"),
        ({"question": "x", "project": "mine"}, "project"),
        ({"question": "x", "conversation_id": 7}, "conversation_id"),
        ({"question": "x", "context_id": "../x"}, "context_id"),
        ({"question": "x", "overrides": []}, "overrides"),
        ({"question": "x", "overrides": {"colour": 1}}, "colour"),
        ({"question": "x", "client_message_id": ""}, "client_message_id"),
        ({"question": "x", "client_message_id": "x" * 65}, "client_message_id"),
        ({"question": "x", "client_message_id": "a\nb"}, "client_message_id"),
    ],
)  # fmt: skip
async def test_a_question_that_is_none_is_refused_by_field(
    ada: Caller, body: dict[str, Any], where: str
) -> None:
    before = await ada.stored()
    for path in ("oracle", "oracle/stream"):
        problems = refusal(await ada("POST", path, json=body), 422)
        assert [problem["loc"][-1] for problem in problems] == [where]
    assert await ada.stored() == before


async def test_a_model_that_is_none_is_not_there(ada: Caller) -> None:
    before = await ada.stored()
    body = {"question": "x", "model": "gpt-99"}
    (problem,) = refusal(await ada("POST", "oracle", json=body), 404)
    assert problem["loc"] == ["body", "model"]
    assert await ada.stored() == before


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=101", "limit=x", "limit=1&limit=2", "before=x", "before=1-2", "page=2",
     "limit=1e1", "limit=", "before=%00"],
)  # fmt: skip
async def test_a_query_that_is_none_is_refused(ada: Caller, query: str) -> None:
    (problem,) = refusal(await ada("GET", f"conversations?{query}"), 422)
    assert problem["loc"] == ["query", query.partition("=")[0]]


@pytest.mark.parametrize("given", ["x", "-1", "1.5", "\uff11", "9" * 30, "1, 2"])
async def test_a_last_event_that_is_no_number_is_refused(ada: Caller, given: str) -> None:
    made = (await ada("POST", "oracle", json={"question": "What is it?"})).json()
    there = f"oracle/runs/{made['id']}/stream"
    header = {"Last-Event-ID": given.encode()}
    refusal(await ada("GET", there, headers=header), 422)
    refusal(await ada("GET", there, params={"last_event_id": given}), 422)


async def test_an_event_that_never_was_is_a_conflict(ada: Caller) -> None:
    made = (await ada("POST", "oracle", json={"question": "What is it?"})).json()
    late = {"Last-Event-ID": str(made["last_seq"] + 1)}
    refusal(await ada("GET", f"oracle/runs/{made['id']}/stream", headers=late), 409)


@pytest.mark.parametrize(
    "path",
    ["", "x", "oracle/", "oracle/runs", "oracle/runs/x", "oracle/runs/1/cancel", "openapi.yaml",
     "%00", "..%2f..%2fetc/passwd", "settings/agent-config/", "conversations/%ff"],
)  # fmt: skip
async def test_an_address_that_is_none_is_told_so_in_json(ada: Caller, path: str) -> None:
    for method in ("GET", "POST"):
        refusal(await ada.http.request(method, f"https://127.0.0.1/api/{path}"), 404)
        refusal(await ada(method, f"https://127.0.0.1/api/{path}"), 404)
