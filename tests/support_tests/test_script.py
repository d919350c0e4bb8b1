"""The script language, and its one encoder."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.core.messages import TokenUsage
from tests.support.payloads import completion, deltas, payloads
from tests.support.script import (
    Call,
    Fault,
    Reply,
    Script,
    call,
    calls,
    forever,
    is_tool_free,
    resolve,
    say,
    split,
    when_tool_free,
)
from tests.support.wire import Ending, Piece, render

STREAM = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "?"}]}
ASKING_USAGE = STREAM | {"stream_options": {"include_usage": True}}
TOOLS = [{"type": "function", "function": {"name": "look"}}]


def chunks(reply: Reply, body: dict[str, Any] = STREAM) -> list[dict[str, Any]]:
    return [json.loads(payload) for payload in list(payloads(reply, body))[:-1]]


@given(st.text(), st.none() | st.integers(1, 9) | st.lists(st.integers(0, 5)))
def test_pieces_join_to_the_text_and_none_is_empty(
    text: str, pieces: int | list[int] | None
) -> None:
    parts = split(text, pieces)
    assert "".join(parts) == text
    assert all(parts)


@pytest.mark.parametrize(
    ("pieces", "parts"),
    [
        (None, ["ab ", "cd"]),
        (1, ["ab cd"]),
        (2, ["ab ", "cd"]),
        (9, ["a", "b", " ", "c", "d"]),
        ([1, 2], ["a", "b ", "cd"]),
        ([99], ["ab cd"]),
    ],
)
def test_text_is_split_as_asked(pieces: int | list[int] | None, parts: list[str]) -> None:
    assert split("ab cd", pieces) == parts


def test_a_reply_streams_thinking_then_text_then_calls() -> None:
    reply = Reply(thinking="hm", text="so", calls=(Call("look", '{"a":1}', id="c1"),), pieces=1)
    opening = {"name": "look", "arguments": ""}
    assert list(deltas(reply)) == [
        {"role": "assistant", "reasoning_content": "hm"},
        {"content": "so"},
        {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": opening}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"a":1}'}}]},
    ]


def test_calls_without_an_id_get_one_that_no_other_call_has() -> None:
    two = calls(Call("look", {}), Call("look", {}))
    ids = [
        delta["tool_calls"][0]["id"]
        for number in (1, 2)
        for delta in deltas(two, number)
        if "id" in delta["tool_calls"][0]
    ]
    assert len(set(ids)) == 4


@pytest.mark.parametrize(
    ("reply", "finish"),
    [
        (say("x"), "stop"),
        (call("look"), "tool_calls"),
        (call("look", finish="an argument"), "tool_calls"),
        (say("x", finish="length"), "length"),
        (say("x", finish="content_filter"), "content_filter"),
        (say("x", finish=None), None),
    ],
)
def test_the_finish_reason_fits_unless_it_is_given(reply: Reply, finish: str | None) -> None:
    assert chunks(reply)[-1]["choices"][0]["finish_reason"] == finish
    assert completion(reply, STREAM)["choices"][0]["finish_reason"] == finish


def test_estimated_usage_is_sent_when_asked_for_only() -> None:
    assert "usage" not in chunks(say("x" * 40))[-1]
    usage = chunks(say("x" * 40), ASKING_USAGE)[-1]["usage"]
    assert usage["completion_tokens"] == 10
    assert usage["total_tokens"] == 10 + usage["prompt_tokens"]


def test_estimated_usage_grows_with_the_prompt() -> None:
    longer = ASKING_USAGE | {"messages": [{"role": "user", "content": "?" * 400}]}
    shorter_usage = chunks(say("x"), ASKING_USAGE)[-1]["usage"]
    assert chunks(say("x"), longer)[-1]["usage"]["prompt_tokens"] > (
        shorter_usage["prompt_tokens"] + 90
    )


def test_given_usage_is_always_sent_and_none_never() -> None:
    usage = chunks(say("x", usage=TokenUsage(7, 3)))[-1]["usage"]
    assert usage == {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    assert "usage" not in chunks(say("x", usage=None), ASKING_USAGE)[-1]


def test_a_reply_that_does_not_stream_is_one_completion() -> None:
    reply = Reply(text="so", thinking="hm", calls=(Call("look", {"a": 1}),))
    message = completion(reply, STREAM)["choices"][0]["message"]
    assert (message["content"], message["reasoning_content"]) == ("so", "hm")
    assert message["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"a": 1}'}


def test_delays_come_before_deltas_and_not_before_what_closes_the_stream() -> None:
    answer = render(say("a b c", delay=2, piece_delay=1), STREAM)
    assert [piece.wait for piece in answer.pieces] == [2, 1, 1, 0, 0]
    assert render(say("a b c", delay=2, piece_delay=1), {}).wait == 4


def test_a_reply_with_nothing_to_say_is_only_its_end() -> None:
    assert len(render(Reply(delay=3), STREAM).pieces) == 2


def test_a_stream_can_be_cut_again_inside_characters() -> None:
    whole = render(say("é ü"), STREAM)
    cut = render(say("é ü", bytes_per_piece=1), STREAM)
    assert {len(piece.data) for piece in cut.pieces} == {1}
    assert b"".join(p.data for p in cut.pieces) == b"".join(p.data for p in whole.pieces)


def test_a_drip_is_one_byte_a_second_after_what_came_before() -> None:
    answer = render(say("a b", fault=Fault("drip", after=1)), STREAM)
    first, *rest = answer.pieces
    assert first.wait == 0
    assert {(piece.wait, len(piece.data)) for piece in rest} == {(1.0, 1)}


def test_a_fault_waits_as_long_as_the_delta_it_replaces() -> None:
    cut = render(say("a b", delay=5, fault=Fault("half_close")), STREAM)
    assert (cut.pieces, cut.ending, cut.last_wait) == ((), Ending.CLOSE, 5)
    empty = render(Reply(delay=5, fault=Fault("empty_stream")), STREAM)
    assert empty.pieces == (Piece(5, b"data: [DONE]\n\n"),)


def test_a_script_repeats_its_last_answer_when_told_to() -> None:
    script = Script([say("a")], then=say("b"))
    assert [script.step(n) for n in range(3)] == [say("a"), say("b"), say("b")]
    assert Script([say("a")]).step(1) is None
    assert forever(say("a")).step(99) == say("a")


def test_a_step_can_look_at_the_request() -> None:
    step = when_tool_free(say("final"), otherwise=call("look"))
    assert resolve(step, STREAM | {"tools": TOOLS}) == call("look")
    assert resolve(step, STREAM | {"tools": TOOLS, "tool_choice": "none"}) == say("final")
    assert is_tool_free(STREAM)
