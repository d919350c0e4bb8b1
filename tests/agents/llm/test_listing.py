"""The models that an endpoint says it has: good lists, odd ones, and hostile ones."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from agents.core.clock import LoopClock
from agents.llm import listing
from agents.llm.client import build_http_client
from agents.llm.errors import (
    BadResponse,
    EndpointError,
    KeyRefused,
    NotAnApi,
    NotFound,
    Overloaded,
    RateLimited,
    Redirected,
    TimedOut,
    Unreachable,
    WrongAddress,
)
from agents.llm.listing import MOST_BYTES, MOST_MODELS, Listing, list_models, read
from tests.support.endpoint import ScriptedEndpoint, refusing_base_url
from tests.support.listings import Answer, Lister, models
from tests.support.script import Script

KEY = "sk-mine-0123456789abcd"
RAW = "what-the-endpoint-wrote"


async def ask(base_url: str, key: str = KEY) -> Listing:
    async with build_http_client() as client:
        return await list_models(client, base_url, key, LoopClock())


async def answered(answer: Answer) -> Listing:
    with Lister(answer) as lister:
        return await ask(lister.base_url)


def names(found: Listing) -> list[str]:
    return [one.name for one in found.models]


def test_names_are_in_order_and_said_once() -> None:
    found = read(models("b", "A", "b", "c").body)
    assert names(found) == ["A", "b", "c"]
    assert found.is_whole


@pytest.mark.parametrize(
    ("entry", "window"),
    [
        ({"id": "x", "context_length": 131_072}, 131_072),
        ({"id": "x", "context_window": 8_192}, 8_192),
        ({"id": "x", "max_model_len": 32_768}, 32_768),
        ({"id": "x", "max_context_length": 4_096}, 4_096),
        ({"id": "x", "meta": {"n_ctx_train": 40_960}}, 40_960),
        ({"id": "x", "top_provider": {"context_length": 1_000}}, 1_000),
        ({"id": "gpt-4o"}, 128_000),
        ({"id": "openai/gpt-4o", "context_length": None}, 128_000),
        ({"id": "x"}, None),
        ({"id": "x", "context_length": -1}, None),
        ({"id": "x", "context_length": "lots"}, None),
        ({"id": "x", "context_length": True}, None),
        ({"id": "x", "context_length": 1e99}, None),
        ({"id": "x", "context_length": 10**12}, None),
        ({"id": "x", "meta": [1]}, None),
    ],
)
def test_the_context_is_what_the_list_says_or_what_is_known(
    entry: dict[str, Any], window: int | None
) -> None:
    (one,) = read(models(entry).body).models
    assert one.window == window


@pytest.mark.parametrize(
    "body",
    [
        [{"id": "a"}],
        {"models": [{"name": "a"}]},
        {"data": [{"id": "a"}, {"id": ""}, {"id": 7}, None, "text", [], {"id": "x" * 201}]},
        {"data": [{"id": "a"}, {"id": "b\x00"}, {"id": "line\nbreak"}, {"id": "\ud800"}]},
    ],
)
def test_what_is_no_name_is_left_out(body: object) -> None:
    assert names(read(json.dumps(body).encode())) == ["a"]


def test_a_byte_order_mark_does_not_matter() -> None:
    assert names(read(b"\xef\xbb\xbf" + models("a").body)) == ["a"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"7",
        b'"text"',
        b"{}",
        b'{"data": {}}',
        b'{"data": "text"}',
        b'{"data": [',
        b"not json",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"data": ' * 50_000,
        b'{"data": [{"id": "a", "context_length": ' + b"9" * 10_000 + b"}]}",
        b"<html>" + RAW.encode() + b"</html>",
    ],
)
def test_what_cannot_be_read_is_said_without_repeating_it(body: bytes) -> None:
    with pytest.raises(BadResponse) as refused:
        read(body)
    assert RAW not in str(refused.value)


def test_only_so_many_models_are_taken() -> None:
    found = read(models(*[f"m{n}" for n in range(MOST_MODELS + 500)]).body)
    assert len(found.models) == MOST_MODELS
    assert not found.is_whole


@pytest.mark.parametrize("filler", ["x" * 2_000, "é" * 1_000, "[{" * 500])
def test_of_a_list_that_is_too_long_the_beginning_is_read(filler: str) -> None:
    entries = [{"id": f"m{n:04}", "description": filler} for n in range(1_200)]
    body = json.dumps({"object": "list", "data": entries}, ensure_ascii=False).encode()
    assert len(body) > MOST_BYTES
    found = read(body[: MOST_BYTES + 1])
    assert 200 < len(found.models) < 1_200
    assert names(found)[0] == "m0000"
    assert not found.is_whole


@pytest.mark.parametrize(
    "body", [b" " * (MOST_BYTES + 9), b"[" * (MOST_BYTES + 9), b"x" * (MOST_BYTES + 9)]
)
def test_a_flood_of_nothing_is_refused(body: bytes) -> None:
    with pytest.raises(BadResponse):
        read(body)


# -- over a socket --------------------------------------------------------------------------------


async def test_the_list_of_a_scripted_endpoint_is_read() -> None:
    async with ScriptedEndpoint({"one": Script(), "two": Script()}) as endpoint:
        assert names(await ask(endpoint.base_url)) == ["one", "two"]


async def test_the_key_goes_with_the_question_and_a_missing_one_does_not() -> None:
    with Lister(models("a")) as lister:
        await ask(lister.base_url)
        await ask(lister.base_url, "")
        assert lister.asked == [("/v1/models", f"Bearer {KEY}"), ("/v1/models", "")]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Answer(RAW.encode(), 401), KeyRefused),
        (Answer(RAW.encode(), 403), KeyRefused),
        (Answer(RAW.encode(), 404), NotFound),
        (Answer(RAW.encode(), 429), RateLimited),
        (Answer(RAW.encode(), 500), Overloaded),
        (Answer(b"", 302, headers={"location": "http://127.0.0.1:1/"}), Redirected),
        (Answer(f"<html>{RAW}</html>".encode(), 200, "text/html; charset=utf-8"), NotAnApi),
        (Answer(f'{{"data": [{RAW}'.encode()), BadResponse),
        (Answer(b""), BadResponse),
    ],
)
async def test_what_goes_wrong_is_told_by_its_cause_and_not_repeated(
    answer: Answer, kind: type[EndpointError]
) -> None:
    with pytest.raises(kind) as refused:
        await answered(answer)
    assert RAW not in str(refused.value)
    assert KEY not in str(refused.value)


async def test_nobody_there_is_said() -> None:
    with refusing_base_url() as base_url, pytest.raises(Unreachable, match=r"127\.0\.0\.1"):
        await ask(base_url)


@pytest.mark.parametrize("base_url", ["", "nonsense", "ftp://x/v1", "http://[::1"])
async def test_an_address_that_is_none_is_said(base_url: str) -> None:
    with pytest.raises(WrongAddress):
        await ask(base_url)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(listing, "SECONDS", 0.3)
    began = time.monotonic()
    yield
    assert time.monotonic() - began < 5


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "answer",
    [
        Answer(models("a").body, delay=30),
        Answer(models("a").body, drip=0.05),
        Answer(RAW.encode(), status=500, drip=0.05),
    ],
)
async def test_an_endpoint_that_takes_for_ever_is_left(answer: Answer) -> None:
    with pytest.raises(TimedOut):
        await answered(answer)


async def test_no_more_is_read_than_is_needed() -> None:
    """The connection is left in the middle of it."""
    huge = Answer(b'{"data": [' + b'{"id": "a"},' * 1_000_000)
    found = await answered(huge)
    assert names(found) == ["a"]
    assert not found.is_whole
