"""The models that an endpoint says it has: good lists, odd ones, and hostile ones."""

import asyncio
import json
from typing import Any

import pytest

from agents.core.clock import LoopClock
from agents.llm import model_list
from agents.llm.client import OpenAIChatModel, build_http_client
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
from agents.llm.model_list import MAX_BYTES, MAX_MODELS, ModelList, list_models, parse_model_list
from tests.support.endpoint import ScriptedEndpoint, refusing_base_url
from tests.support.listings import Answer, Lister, models
from tests.support.runs import Ran, drive
from tests.support.script import Script
from tests.support.timing import PATIENCE
from tests.support.tools import FakeTools
from tests.support.virtual import VirtualClock, virtual_time

from .wire import MemoryEndpoint, Reply, refusing

KEY = "sk-mine-0123456789abcd"
RAW = "what-the-endpoint-wrote"


async def ask(base_url: str, key: str = KEY) -> ModelList:
    async with build_http_client() as client:
        return await list_models(client, base_url, key, LoopClock())


async def answered(answer: Answer) -> ModelList:
    with Lister(answer) as lister:
        return await ask(lister.base_url)


def names(found: ModelList) -> list[str]:
    return [one.name for one in found.models]


def test_names_are_in_order_and_said_once() -> None:
    found = parse_model_list(models("b", "A", "b", "c").body)
    assert names(found) == ["A", "b", "c"]
    assert found.is_complete


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
    (one,) = parse_model_list(models(entry).body).models
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
    assert names(parse_model_list(json.dumps(body).encode())) == ["a"]


def test_a_byte_order_mark_does_not_matter() -> None:
    assert names(parse_model_list(b"\xef\xbb\xbf" + models("a").body)) == ["a"]


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
        parse_model_list(body)
    assert RAW not in str(refused.value)


def test_only_so_many_models_are_taken() -> None:
    found = parse_model_list(models(*[f"m{n}" for n in range(MAX_MODELS + 500)]).body)
    assert len(found.models) == MAX_MODELS
    assert not found.is_complete


@pytest.mark.parametrize("filler", ["x" * 2_000, "é" * 1_000, "[{" * 500])
def test_of_a_list_that_is_too_long_the_beginning_is_read(filler: str) -> None:
    entries = [{"id": f"m{n:04}", "description": filler} for n in range(1_200)]
    body = json.dumps({"object": "list", "data": entries}, ensure_ascii=False).encode()
    assert len(body) > MAX_BYTES
    found = parse_model_list(body[: MAX_BYTES + 1])
    assert 200 < len(found.models) < 1_200
    assert names(found)[0] == "m0000"
    assert not found.is_complete


@pytest.mark.parametrize(
    "body", [b" " * (MAX_BYTES + 9), b"[" * (MAX_BYTES + 9), b"x" * (MAX_BYTES + 9)]
)
def test_a_flood_of_nothing_is_refused(body: bytes) -> None:
    with pytest.raises(BadResponse):
        parse_model_list(body)


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
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_list, "LIST_SECONDS", 0.3)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "answer",
    [
        Answer(models("a").body, delay=10 * PATIENCE),
        Answer(models("a").body, drip=0.05),
        Answer(RAW.encode(), status=500, drip=0.05),
    ],
)
async def test_an_endpoint_that_takes_for_ever_is_left(answer: Answer) -> None:
    with pytest.raises(TimedOut):
        async with asyncio.timeout(PATIENCE):
            await answered(answer)


async def test_no_more_is_read_than_is_needed() -> None:
    """The connection is left in the middle of it."""
    huge = Answer(b'{"data": [' + b'{"id": "a"},' * 1_000_000)
    found = await answered(huge)
    assert names(found) == ["a"]
    assert not found.is_complete


# -- a model that does not exist ------------------------------------------------------------------

UNKNOWN = json.dumps({"error": {"message": "acme/gpt-9 is not a valid model ID", "code": 400}})


async def ran(refused: Reply, listed: Reply, model: str = "acme/gpt-9") -> Ran:
    """A run whose model is refused by an endpoint that lists these."""
    endpoint, clock = MemoryEndpoint(refused), VirtualClock()
    endpoint.models = listed
    http = build_http_client(endpoint)
    asked = OpenAIChatModel(http, "https://models.test/v1", model, KEY, clock=clock)
    return await drive(asked, FakeTools({}), clock=clock)


def error_of(found: Ran) -> str:
    assert (found.outcome, found.reason) == ("failed", "provider_error")
    assert found.record.error is not None
    return found.record.error.error


@virtual_time
async def test_a_400_that_says_the_model_does_not_exist_offers_those_that_do() -> None:
    listed = Reply([models("zeta/tiny", "acme/gpt-8", "acme/gpt-8-mini").body])
    error = error_of(await ran(refusing(400, UNKNOWN), listed))
    assert error == (
        "The model endpoint does not know the model 'acme/gpt-9'. It offers acme/gpt-8, "
        "acme/gpt-8-mini, zeta/tiny. Choose one of them in the settings."
    )


@virtual_time
async def test_of_many_models_the_likely_ones_are_offered() -> None:
    many = [f"other/model-{n}" for n in range(500)]
    listed = Reply([models(*many, "acme/gpt-8", "x" * 200).body])
    error = error_of(await ran(refusing(400, UNKNOWN), listed))
    assert "It offers acme/gpt-8, other/model-" in error
    assert "and 494 more. Choose" in error
    assert len(error) < 400


@virtual_time
async def test_a_bare_404_is_a_model_that_does_not_exist_only_if_the_list_says_so() -> None:
    assert "does not know the model" in error_of(
        await ran(refusing(404), Reply([models("a", "b").body]))
    )
    there = Reply([models("acme/gpt-9", "b").body])
    assert "or the base URL is wrong" in error_of(await ran(refusing(404), there))
    assert "or the base URL is wrong" in error_of(await ran(refusing(404), Reply(status=404)))


@pytest.mark.parametrize(
    "listed",
    [
        Reply(status=404),
        Reply([b"garbage"]),
        Reply([models().body]),
        Reply([models("acme/gpt-9").body]),
        Reply([models(f"x-{KEY}").body]),
        Reply([models("y" * 150).body]),
    ],
)
@virtual_time
async def test_without_a_list_of_use_the_failure_is_told_as_it_is(listed: Reply) -> None:
    error = error_of(await ran(refusing(400, UNKNOWN), listed))
    assert error == "The model endpoint does not know this model. Choose another in the settings."


@virtual_time
async def test_a_list_that_does_not_come_holds_the_failure_up_for_two_seconds_at_most() -> None:
    found = await ran(refusing(400, UNKNOWN), Reply([b'{"data": ['], hangs=True))
    assert "does not know this model" in error_of(found)
    assert found.seconds == pytest.approx(2.0)


# -- what is logged -------------------------------------------------------------------------------


async def test_the_log_has_the_details_that_our_sentence_promises(
    caplog: pytest.LogCaptureFixture,
) -> None:
    said = {"message": f"tools[3] is too deep for {KEY} and sk-other-1", "param": "tools"}
    body = json.dumps({"error": said, "echo": RAW})
    found = await ran(refusing(400, body, x_request_id="req-7"), Reply())
    assert "server's log has the details" in error_of(found)
    (line,) = [each.getMessage() for each in caplog.records if each.name == "agents.llm.endpoint"]
    assert "models.test answered 400 (bad_request)" in line
    assert "'req-7'" in line
    assert "tools[3] is too deep for [hidden] and [hidden] tools" in line
    assert (KEY in line, RAW in line) == (False, False)


async def test_the_log_has_the_details_of_an_error_inside_an_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    error = {"type": "invalid_request_error", "message": "tools[3] is too deep " + "x" * 5_000}
    event = b"data: " + json.dumps({"error": error}).encode() + b"\n\n"
    found = await ran(Reply([event]), Reply())
    assert "server's log has the details" in error_of(found)
    (line,) = [each.getMessage() for each in caplog.records if each.name == "agents.llm.endpoint"]
    assert "tools[3] is too deep" in line
    assert len(line) < 500


async def test_of_a_key_that_was_refused_nothing_is_logged_that_may_name_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    body = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY[:8]}***"}})
    await ran(refusing(401, body), Reply())
    assert KEY[:8] not in caplog.text
