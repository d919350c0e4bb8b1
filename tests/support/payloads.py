"""A Reply as the JSON an honest endpoint sends. Bytes, timing and faults are in `wire.py`."""

import json
from collections.abc import Iterator
from typing import Any

from agents.core.messages import TokenUsage

from .script import Body, Reply

CREATED = 1_750_000_000


def deltas(reply: Reply, number: int = 1) -> Iterator[dict[str, Any]]:
    """The `delta` objects of a streamed reply."""
    first: dict[str, Any] = {"role": "assistant"}
    for delta in _bare_deltas(reply, number):
        yield first | delta
        first = {}


def _bare_deltas(reply: Reply, number: int) -> Iterator[dict[str, Any]]:
    for piece in reply.split(reply.thinking):
        yield {reply.thinking_field: piece}
    for piece in reply.split(reply.text):
        yield {"content": piece}
    for index, call in enumerate(reply.calls):
        opening = {"name": call.name, "arguments": ""}
        made = {"id": call.id_in(number, index), "type": "function", "function": opening}
        yield {"tool_calls": [{"index": index, **made}]}
        for piece in reply.split(call.json):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def payloads(reply: Reply, body: Body, number: int = 1) -> Iterator[str]:
    """What follows `data: ` in each frame, [DONE] last, with no fault applied."""
    base = envelope(body, number, "chat.completion.chunk")
    for delta in deltas(reply, number):
        yield _text({**base, "choices": [choice(delta, None)]})
    yield _text({**base, "choices": [choice({}, reply.finish_reason)]})
    if usage := _usage(reply, body):
        yield _text({**base, "choices": [], "usage": usage})
    yield "[DONE]"


def completion(reply: Reply, body: Body, number: int = 1) -> dict[str, Any]:
    """The whole answer to a request that does not stream."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.thinking:
        message[reply.thinking_field] = reply.thinking
    if reply.calls:
        message["tool_calls"] = [
            {
                "id": call.id_in(number, index),
                "type": "function",
                "function": {"name": call.name, "arguments": call.json},
            }
            for index, call in enumerate(reply.calls)
        ]
    choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason}
    whole = {**envelope(body, number, "chat.completion"), "choices": [choice]}
    if usage := reply.usage_after(_prompt(body)):
        whole["usage"] = _usage_json(usage)
    return whole


def envelope(body: Body, number: int, kind: str) -> dict[str, Any]:
    model = body.get("model", "scripted")
    return {"id": f"chatcmpl-{number}", "object": kind, "created": CREATED, "model": model}


def choice(delta: dict[str, Any], finish: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish}


def error_body(message: str, code: int) -> dict[str, Any]:
    return {"error": {"message": message, "type": "scripted_error", "code": code}}


def _usage(reply: Reply, body: Body) -> dict[str, int] | None:
    asked = (body.get("stream_options") or {}).get("include_usage", False)
    if reply.usage == "auto" and not asked:
        return None
    usage = reply.usage_after(_prompt(body))
    return _usage_json(usage) if usage else None


def _usage_json(usage: TokenUsage) -> dict[str, int]:
    both = {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}
    return both | {"total_tokens": usage.prompt_tokens + usage.completion_tokens}


def _prompt(body: Body) -> list[Any]:
    return [body.get("messages"), body.get("tools")]


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def dump(value: Any) -> bytes:
    return _text(value).encode()
