"""Every fault of an endpoint, before and after the first content, through the real client."""

import json

import httpx
import pytest

from agents.core.messages import Finished, ModelEvent, Retrying, TextDelta, TokenUsage
from agents.llm.decoding.sse import MAX_EVENT_LENGTH
from agents.llm.errors import EndpointError
from tests.support.runs import drive, served
from tests.support.script import Reply as ScriptedReply
from tests.support.script import Script, say
from tests.support.tools import FakeTools

from .wire import (
    DONE,
    KEY,
    SECRET,
    STOP,
    USAGE,
    MemoryEndpoint,
    Piece,
    Reply,
    answering,
    ask,
    data,
    delta,
    failure,
    joined,
    keeps_secrets,
    model_at,
    read_into,
    refusing,
    request,
    text,
)

HTML = {"content-type": "text/html"}
IN_STREAM = data({"error": {"code": 502, "message": SECRET}})
LONG = b"data: " + b"x" * (MAX_EVENT_LENGTH + 1) + b"\n\n"

FAULTS: dict[str, tuple[Reply | Exception, str]] = {
    "400": (refusing(400), "bad_request"),
    "400, too long": (
        refusing(
            400, json.dumps({"error": {"code": "context_length_exceeded", "message": SECRET}})
        ),
        "context_length",
    ),
    "401": (refusing(401), "auth"),
    "402": (refusing(402), "quota"),
    "403": (refusing(403), "auth"),
    "404": (refusing(404), "not_found"),
    "408": (refusing(408), "timeout"),
    "429": (refusing(429), "rate_limited"),
    "500": (refusing(500), "overloaded"),
    "503": (refusing(503), "overloaded"),
    "redirect": (refusing(307, location="https://other.test/" + SECRET), "redirected"),
    "a web page": (Reply([b"<html>" + SECRET.encode()], headers=HTML), "bad_response"),
    "a web page that says 404": (Reply([b"<html>"], 404, HTML), "not_found"),
    "an endless refusal": (Reply([b"x" * 1000] * 1000, 500), "overloaded"),
    "a refusal that breaks off": (Reply([SECRET.encode(), httpx.ReadError(KEY)], 401), "auth"),
    "no connection": (httpx.ConnectError(KEY), "unreachable"),
    "connect time-out": (httpx.ConnectTimeout(KEY), "timeout"),
    "read time-out": (httpx.ReadTimeout(KEY), "timeout"),
    "write time-out": (httpx.WriteTimeout(KEY), "timeout"),
    "no free connection": (httpx.PoolTimeout(KEY), "overloaded"),
    "proxy": (httpx.ProxyError(KEY), "unreachable"),
    "closed without a response": (httpx.RemoteProtocolError(KEY), "broken_stream"),
    "bad protocol": (httpx.UnsupportedProtocol(KEY), "bad_address"),
    "read error": (Reply([httpx.ReadError(KEY)]), "broken_stream"),
    "time-out between bytes": (Reply([httpx.ReadTimeout(KEY)]), "timeout"),
    "bad encoding": (Reply([httpx.DecodingError(KEY)]), "bad_response"),
    "empty stream": (Reply([]), "empty_stream"),
    "only done": (Reply([DONE]), "empty_stream"),
    "only usage": (Reply([USAGE, DONE]), "empty_stream"),
    "half-closed": (Reply([delta(role="assistant")]), "broken_stream"),
    "truncated json": (Reply([b'data: {"choices": [{"del']), "broken_stream"),
    "garbage": (Reply([b"data: " + SECRET.encode() + b"\n\n"]), "bad_response"),
    "invalid utf-8": (Reply([b"data: \xff\xfe\n\n"]), "bad_response"),
    "over-long line": (Reply([LONG]), "bad_response"),
    "error in the stream": (Reply([IN_STREAM]), "overloaded"),
    "an error as the end": (Reply([delta("error"), DONE]), "broken_stream"),
    "garbage as json": (
        Reply([SECRET.encode()], headers={"content-type": "application/json"}),
        "bad_response",
    ),
    "error as json": (
        Reply([b'{"error": {"code": 401}}'], headers={"content-type": "application/json"}),
        "auth",
    ),
}
FOR_GOOD = {
    *("400", "400, too long", "401", "402", "403", "404", "redirect", "a web page", "bad protocol"),
    *("a web page that says 404", "a refusal that breaks off", "error as json"),
}
PASSING = {name: reply for name, (reply, _) in FAULTS.items() if name not in FOR_GOOD}


@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_is_typed_and_tells_no_secrets(name: str) -> None:
    reply, code = FAULTS[name]
    endpoint = MemoryEndpoint(reply, reply, reply)
    error = await failure(endpoint)
    assert error.code == code
    assert keeps_secrets(error)
    assert len(endpoint.requests) == (1 if name in FOR_GOOD else 3)
    assert not isinstance(reply, Reply) or reply.closed


@pytest.mark.parametrize("reply", PASSING.values(), ids=PASSING.keys())
async def test_a_passing_fault_is_survived(reply: Reply | Exception) -> None:
    retrying, *rest = await ask(MemoryEndpoint(reply, answering(text("hello"))))
    assert isinstance(retrying, Retrying)
    assert (retrying.attempt, retrying.wait) == (1, 0.5)
    assert rest == [TextDelta("hello"), Finished((), "stop", TokenUsage(7, 3))]


# -- after the first content ----------------------------------------------------------------------

LATE: dict[str, tuple[list[Piece], str]] = {
    "half-closed": ([], "broken_stream"),
    "reset": ([httpx.ReadError(KEY)], "broken_stream"),
    "time-out": ([httpx.ReadTimeout(KEY)], "broken_stream"),
    "truncated": ([b'data: {"choi'], "broken_stream"),
    "garbage": ([b"data: " + SECRET.encode() + b"\n\n", STOP], "bad_response"),
    "invalid utf-8": ([b"data: \xff\n\n", STOP], "bad_response"),
    "over-long": ([LONG], "bad_response"),
    "error": ([IN_STREAM, STOP], "overloaded"),
    "an error as the end": ([delta("error"), USAGE, DONE], "broken_stream"),
    "no resources as the end": ([delta("insufficient_system_resource"), DONE], "broken_stream"),
}


@pytest.mark.parametrize(("pieces", "code"), LATE.values(), ids=LATE.keys())
async def test_after_content_all_text_is_handed_over_and_nothing_tried_again(
    pieces: list[Piece], code: str
) -> None:
    endpoint = MemoryEndpoint(Reply([text("So <tool_"), *pieces]))
    events: list[ModelEvent] = []
    with pytest.raises(EndpointError) as raised:
        await read_into(events, model_at(endpoint).stream(request()))
    assert joined(events) == "So <tool_"
    assert raised.value.code == code
    assert keeps_secrets(raised.value)
    assert len(endpoint.requests) == 1


async def test_an_answer_that_ends_with_an_error_is_kept_and_the_user_is_told() -> None:
    async with served(Script([say("Half of it", finish="error")])) as bench:
        ran = await drive(bench.model(), FakeTools({}))
    assert (ran.outcome, ran.reason, ran.answer) == ("failed", "provider_error", "Half of it")
    assert ran.record.error is not None
    assert "What arrived is kept" in ran.record.error.error


async def test_an_error_instead_of_an_answer_is_tried_again() -> None:
    async with served(Script([ScriptedReply(finish="error"), say("There.")])) as bench:
        ran = await drive(bench.model(), FakeTools({}))
    assert (ran.reason, ran.answer) == ("completed", "There.")
