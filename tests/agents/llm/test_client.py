import gzip
import json
import tracemalloc
import zlib
from functools import cache
from types import MappingProxyType
from typing import Any

import httpx
import pytest

from agents.core.messages import Finished, Retrying, TextDelta, TokenUsage
from agents.core.ports import ChatModel, ModelStream
from agents.llm.client import build_http_client
from agents.llm.errors import BadResponse, EndpointError

from .wire import (
    KEY,
    TOOLS,
    MemoryEndpoint,
    Reply,
    answering,
    ask,
    collect,
    joined,
    model_at,
    refusing,
    request,
    text,
)

WHOLE = {
    "choices": [{"message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 3},
}
JSON = {"content-type": "application/json; charset=utf-8"}


async def body_of(model: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """The body of one request."""
    endpoint = MemoryEndpoint(answering(text("a")))
    await collect(model_at(endpoint, **model or {}).stream(request(**fields)))
    return endpoint.bodies[0]


async def test_an_answer_is_streamed_to_its_end() -> None:
    endpoint = MemoryEndpoint(answering(text("Hello "), text("world")))
    assert await ask(endpoint) == [
        TextDelta("Hello "),
        TextDelta("world"),
        Finished((), "stop", TokenUsage(7, 3)),
    ]


async def test_the_request_goes_to_chat_completions_with_the_key() -> None:
    endpoint = MemoryEndpoint(answering(text("a")))
    await ask(endpoint, base_url="https://models.test/v1/")
    sent = endpoint.requests[0]
    assert (sent.method, str(sent.url)) == ("POST", "https://models.test/v1/chat/completions")
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.headers["content-type"] == "application/json"


async def test_without_a_key_none_is_sent() -> None:
    endpoint = MemoryEndpoint(answering(text("a")))
    await ask(endpoint, api_key="")
    assert "authorization" not in endpoint.requests[0].headers


async def test_the_body_says_what_is_asked() -> None:
    assert await body_of() == {
        "model": "gpt-4o",
        "messages": [{"role": "user", "content": "hello"}],
        "max_tokens": 500,
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": list(TOOLS),
        "tool_choice": "auto",
    }


async def test_tools_and_their_choice_are_sent_only_when_there_are_any() -> None:
    assert {"tools", "tool_choice"}.isdisjoint(await body_of(tools=()))


async def test_a_wrap_up_keeps_the_tools_and_forbids_them() -> None:
    body = await body_of(tool_choice="none")
    assert (body["tools"], body["tool_choice"]) == (list(TOOLS), "none")


async def test_schemas_may_be_any_mapping() -> None:
    schema = MappingProxyType({"function": MappingProxyType({"name": "x", "required": ("a",)})})
    body = await body_of(tools=(schema,), messages=({"role": "user", "content": "é"},))
    assert body["tools"] == [{"function": {"name": "x", "required": ["a"]}}]
    assert body["messages"] == [{"role": "user", "content": "é"}]


async def test_output_is_capped_to_what_the_model_can_write_by_the_name_it_knows() -> None:
    assert (await body_of(max_tokens=999_999))["max_tokens"] == 16_384
    body = await body_of({"model": "gpt-5"})
    assert (body["max_completion_tokens"], "max_tokens" in body) == (500, False)


async def test_thinking_is_switched_on_when_wanted() -> None:
    body = await body_of({"model": "gpt-5", "thinking": True, "effort": "high"})
    assert body["reasoning_effort"] == "high"
    assert "reasoning_effort" not in await body_of({"model": "gpt-5"})


async def test_without_streaming_the_whole_answer_is_read() -> None:
    endpoint = MemoryEndpoint(Reply([json.dumps(WHOLE).encode()], headers=JSON))
    events = await ask(endpoint, streaming=False)
    assert events == [TextDelta("hello"), Finished((), "stop", TokenUsage(7, 3))]
    assert {"stream", "stream_options"}.isdisjoint(endpoint.bodies[0])


async def test_a_server_that_does_not_stream_is_understood_all_the_same() -> None:
    body = json.dumps(WHOLE).encode()
    endpoint = MemoryEndpoint(Reply([body[:20], body[20:]], headers=JSON))
    assert joined(await ask(endpoint)) == "hello"


async def test_an_encoded_stream_is_decoded() -> None:
    stream = gzip.compress(text("hello") + b"data: [DONE]\n\n")
    headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
    assert joined(await ask(MemoryEndpoint(Reply([stream], headers=headers)))) == "hello"


@pytest.mark.parametrize(
    ("settings", "option", "message"),
    [
        ({}, "stream_options", "Unrecognized request argument: stream_options"),
        ({"model": "gpt-5", "thinking": True}, "reasoning_effort", "unknown 'reasoning_effort'"),
        (
            {"model": "qwen3:8b", "thinking": True},
            "chat_template_kwargs",
            "chat_template_kwargs: extra fields not permitted",
        ),
        (
            {"model": "x/y", "thinking": True, "base_url": "https://openrouter.ai/api/v1"},
            "reasoning",
            "reasoning is not supported",
        ),
    ],
)
async def test_an_option_that_is_refused_is_left_out_from_then_on(
    settings: dict[str, Any], option: str, message: str
) -> None:
    refused = refusing(400, json.dumps({"error": {"message": message}}))
    endpoint = MemoryEndpoint(refused, answering(text("a")), answering(text("b")))
    model = model_at(endpoint, **settings)
    first, *_ = await collect(model.stream(request()))
    await collect(model.stream(request()))
    assert isinstance(first, Retrying)
    assert (first.attempt, first.wait) == (1, 0.0)
    assert [option in body for body in endpoint.bodies] == [True, False, False]


async def test_the_cap_changes_its_name_when_the_endpoint_says_so() -> None:
    message = "'max_tokens' is not supported. Use 'max_completion_tokens' instead."
    refused = refusing(400, json.dumps({"error": {"message": message}}))
    endpoint = MemoryEndpoint(refused, answering(text("a")))
    await ask(endpoint, model="new-model")
    assert ["max_completion_tokens" in body for body in endpoint.bodies] == [False, True]
    assert "max_tokens" not in endpoint.bodies[1]


def test_the_model_knows_its_name_and_size() -> None:
    model: ChatModel = model_at(MemoryEndpoint())
    assert (model.name, model.window, model.max_output) == ("gpt-4o", 128_000, 16_384)


async def test_a_stream_is_what_the_loop_expects() -> None:
    stream: ModelStream = model_at(MemoryEndpoint()).stream(request())
    assert stream.undelivered() == []
    await stream.aclose()


def test_the_key_is_in_no_repr() -> None:
    model = model_at(MemoryEndpoint(), base_url=f"https://me:{KEY}@models.test:8443/v1")
    assert repr(model) == "OpenAIChatModel('gpt-4o' at 'models.test')"


async def test_the_client_keeps_no_cookies_and_follows_no_redirects() -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        assert "cookie" not in request.headers
        return httpx.Response(302, headers={"set-cookie": "a=b", "location": "https://x.test/"})

    async with build_http_client(httpx.MockTransport(respond)) as client:
        for _ in range(2):
            assert (await client.get("https://models.test/")).status_code == 302
        assert (client.timeout.connect, client.timeout.read) == (10.0, 60.0)


@cache
def bomb(megabytes: int) -> bytes:
    """A few bytes that stand for many. Each megabyte is packed by itself, so one is packed."""
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    head = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    packed = packer.compress(b" " * 1_000_000) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + packed * megabytes


@pytest.mark.parametrize("kind", ["text/event-stream", "application/json"])
async def test_packed_bytes_cannot_fill_the_memory(kind: str) -> None:
    headers = {"content-type": kind, "content-encoding": "gzip"}
    body = bomb(300)
    tracemalloc.start()
    try:
        with pytest.raises(EndpointError):
            await ask(MemoryEndpoint(*[Reply([body], headers=headers)] * 9))
        assert tracemalloc.get_traced_memory()[1] < 100_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("packing", ["gzip, gzip", "br", "zstd", "gzip"])
async def test_what_cannot_be_unpacked_is_a_bad_response(packing: str) -> None:
    headers = {"content-type": "text/event-stream", "content-encoding": packing}
    with pytest.raises(BadResponse):
        await ask(MemoryEndpoint(*[Reply([b"not packed at all"], headers=headers)] * 9))
