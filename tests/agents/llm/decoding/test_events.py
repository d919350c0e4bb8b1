import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.core.messages import (
    CallProgress,
    Finished,
    ModelEvent,
    RawCall,
    ReasoningDelta,
    TextDelta,
    TokenUsage,
)
from agents.llm.decoding.events import EventAssembler
from agents.llm.errors import BadResponse, BrokenStream, EmptyStream, OutOfCredit, Overloaded
from tests.agents.llm.wire import repeatable

END = '{"choices": [{"delta": {}, "finish_reason": "stop"}]}'
KNOWN = frozenset({"think"})


def chunk(**delta: object) -> str:
    return json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})


def assemble(*reads: list[str]) -> tuple[list[ModelEvent], EventAssembler]:
    assembly = EventAssembler(KNOWN)
    events = [event for read in reads for event in assembly.feed(read)]
    return events + assembly.flush(), assembly


def finished(*payloads: str) -> Finished:
    last = assemble([*payloads])[0][-1]
    assert isinstance(last, Finished)
    return last


def test_text_of_one_read_is_one_delta() -> None:
    events, _ = assemble([chunk(content="a"), chunk(content="b")], [chunk(content="c"), END])
    assert events == [TextDelta("ab"), TextDelta("c"), Finished((), "stop")]


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_reasoning_comes_before_text_in_the_order_of_arrival(field: str) -> None:
    events, _ = assemble([chunk(**{field: "hm"}), chunk(**{field: "m", "content": "yes"}), END])
    assert events == [ReasoningDelta("hmm"), TextDelta("yes"), Finished((), "stop")]


def test_reasoning_details_count_only_without_the_plain_field() -> None:
    details = [
        {"type": "reasoning.text", "text": "de"},
        {"type": "reasoning.summary", "summary": "t"},
    ]
    events, _ = assemble(
        [chunk(reasoning="plain", reasoning_details=details), chunk(reasoning_details=details), END]
    )
    assert events[0] == ReasoningDelta("plaindet")


def test_a_call_written_in_text_is_held_back_and_finished() -> None:
    events, _ = assemble([chunk(content="a think{")], [chunk(content='"x": 1} b'), END])
    call = RawCall("text-1", "think", '{"x": 1}')
    assert events == [TextDelta("a "), TextDelta(" b"), Finished((call,), "stop")]


def test_calls_written_in_reasoning_and_text_are_numbered_together() -> None:
    events, _ = assemble([chunk(reasoning="think{}"), chunk(content="think{}"), END])
    calls = (RawCall("text-1", "think", "{}"), RawCall("text-2", "think", "{}"))
    assert events == [Finished(calls, "stop")]


UNCLOSED = '<tool_call>{"name": "think"'


def test_an_unclosed_call_is_finished_as_malformed() -> None:
    (call,) = finished(chunk(content=f"a {UNCLOSED}"), END).calls
    assert (call.name, call.arguments) == ("think", UNCLOSED)
    assert "not closed" in call.problem


def test_an_unclosed_call_in_reasoning_counts_only_where_no_answer_follows() -> None:
    thought = chunk(reasoning=f"hm {UNCLOSED}")
    assert finished(thought, chunk(content="Yes."), END).calls == ()
    assert [call.name for call in finished(thought, END).calls] == ["think"]


def test_an_unclosed_call_does_not_count_beside_a_call_of_the_protocol() -> None:
    call = {"index": 0, "id": "c", "function": {"name": "think", "arguments": "{}"}}
    end = finished(chunk(content="<tool_call>"), chunk(tool_calls=[call]), END)
    assert end.calls == (RawCall("c", "think", "{}"),)


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_an_unclosed_call_of_an_answer_that_was_cut_off_is_neither_shown_nor_called(
    reason: str,
) -> None:
    end = json.dumps({"choices": [{"delta": {}, "finish_reason": reason}]})
    events, _ = assemble([chunk(content=f"a {UNCLOSED}"), end])
    assert events == [
        TextDelta("a "),
        CallProgress(len(UNCLOSED)),
        Finished((), reason),
    ]


def test_held_back_reasoning_is_released_before_the_text_that_follows_it() -> None:
    events, _ = assemble([chunk(reasoning="I think")], [chunk(content="yes")], [END])
    assert events[:3] == [ReasoningDelta("I "), ReasoningDelta("think"), TextDelta("yes")]


@pytest.mark.parametrize(
    "odd",
    [
        *("123", "null", '"text"', "[]", "{}", '{"choices": null}', '{"choices": {}}'),
        *('{"choices": [null]}', '{"choices": [{}]}', '{"choices": [{"delta": null}]}', " "),
        *('{"choices": [{"delta": []}]}', '{"choices": [{"delta": {"content": 5}}]}'),
        *('{"choices": [{"delta": {"content": {"a": 1}, "reasoning": 5, "tool_calls": 5}}]}',),
        *(
            '{"choices": [{"delta": {"tool_calls": [null, 5], "function_call": []}}]}',
            '{"usage": 5}',
        ),
        *('{"choices": [{"finish_reason": 5, "delta": {"tool_calls": [{"function": 5}]}}]}',),
    ],
)
def test_what_is_not_understood_is_ignored(odd: str) -> None:
    assert assemble([chunk(content="a"), odd, END])[0] == [TextDelta("a"), Finished((), "stop")]


KEYS: st.SearchStrategy[str] = st.sampled_from(
    [
        *("choices", "delta", "message", "content", "reasoning", "tool_calls", "function", "name"),
        *("arguments", "index", "id", "usage", "prompt_tokens", "error", "code", "finish_reason"),
    ]
)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@repeatable
@given(st.lists(JSON, max_size=5))
def test_no_json_makes_it_raise(values: list[Any]) -> None:
    payloads = [json.dumps(value) for value in values]
    deltas = [json.dumps({"choices": [{"delta": value}]}) for value in values]
    assemble(payloads)
    assemble(deltas, [END])


def test_content_may_be_a_list_of_parts() -> None:
    events, _ = assemble([chunk(content=[{"type": "text", "text": "a"}, {"text": "b"}, 5]), END])
    assert events[0] == TextDelta("ab")


def test_a_refusal_is_text() -> None:
    assert assemble([chunk(content=None, refusal="No."), END])[0][0] == TextDelta("No.")


def test_several_documents_in_one_payload_are_all_read() -> None:
    events, _ = assemble([chunk(content="a") + "\n" + chunk(content="b") + "\n[DONE]"])
    assert events == [TextDelta("ab"), Finished()]


def test_a_whole_message_is_read_like_a_delta() -> None:
    call = {"id": "c1", "function": {"name": "think", "arguments": "{}"}}
    message = {"content": "a", "reasoning": "r", "tool_calls": [call, {**call, "id": "c2"}]}
    body = json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]})
    calls = (RawCall("c1", "think", "{}"), RawCall("c2", "think", "{}"))
    events, _ = assemble([body, "[DONE]"])
    told = CallProgress(2 * len("think{}"))
    assert events == [ReasoningDelta("r"), TextDelta("a"), told, Finished(calls, "tool_calls")]


def test_characters_that_cannot_be_stored_are_mended_or_marked() -> None:
    payload = chunk(content="\ud83e") + chunk(content="\udd89 \x00 \ud83e!")
    assert assemble([payload, END])[0][0] == TextDelta("🦉 \ufffd \ufffd!")


# -- usage ----------------------------------------------------------------------------------------


def test_usage_may_come_in_any_chunk() -> None:
    usage = '{"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}'
    assert finished(usage, chunk(content="a"), END).usage == TokenUsage(5, 2)
    assert finished(chunk(content="a"), END, usage).usage == TokenUsage(5, 2)


@pytest.mark.parametrize(
    "usage",
    [
        {"total_tokens": 9},
        {"prompt_tokens": -1, "completion_tokens": 2},
        {"prompt_tokens": True, "completion_tokens": 2},
        {"prompt_tokens": 1.5, "completion_tokens": 2},
        {"prompt_tokens": "1", "completion_tokens": 2},
        {"prompt_tokens": 1, "completion_tokens": None},
        "many",
    ],
)
def test_usage_that_makes_no_sense_is_absent(usage: object) -> None:
    assert finished(chunk(content="a"), END, json.dumps({"usage": usage})).usage is None


# -- ends -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "end", [END, "[DONE]", " [DONE] ", '{"usage": {"prompt_tokens": 5, "completion_tokens": 2}}']
)
def test_a_finish_reason_or_done_or_usage_is_a_proper_end(end: str) -> None:
    assert isinstance(assemble([chunk(content="a"), end])[0][-1], Finished)


def test_an_end_out_of_the_blue_is_a_broken_stream_after_what_was_held_back() -> None:
    events, assembly = assemble([chunk(content="I think")])
    assert events == [TextDelta("I "), TextDelta("think")]
    assert isinstance(assembly.fault, BrokenStream)


@pytest.mark.parametrize("payloads", [[], ["[DONE]"], ['{"choices": []}', "[DONE]"]])
def test_a_stream_without_choices_is_empty(payloads: list[str]) -> None:
    events, assembly = assemble(payloads)
    assert events == []
    assert isinstance(assembly.fault, EmptyStream)
    assert not assembly.started


def test_nothing_after_done_is_read() -> None:
    events, _ = assemble([chunk(content="a"), "[DONE]", "garbage"], [chunk(content="b")])
    assert events == [TextDelta("a"), Finished()]


@pytest.mark.parametrize("garbage", ["{", "<html>", '{"choices": [{"delta"', "[" * 100_000])
def test_garbage_is_a_fault_after_what_came_before(garbage: str) -> None:
    events, assembly = assemble([chunk(content="a"), garbage, chunk(content="b")])
    assert events == [TextDelta("a")]
    assert isinstance(assembly.fault, BadResponse)


def test_an_error_inside_the_stream_is_typed() -> None:
    error = '{"error": {"code": 502, "message": "boom"}, "choices": [{"finish_reason": "error"}]}'
    events, assembly = assemble([chunk(content="a"), error])
    assert events == [TextDelta("a")]
    assert isinstance(assembly.fault, Overloaded)


def test_an_error_inside_a_choice_is_typed() -> None:
    choice = {"delta": {}, "finish_reason": "error", "error": {"code": 402}}
    assert isinstance(assemble([json.dumps({"choices": [choice]})])[1].fault, OutOfCredit)


@pytest.mark.parametrize(
    ("delta", "started"),
    [
        ({"role": "assistant", "content": ""}, False),
        ({"content": "a"}, True),
        ({"content": "<tool_"}, True),
        ({"reasoning": "a"}, True),
        ({"tool_calls": [{"index": 0}]}, True),
    ],
)
def test_content_of_any_kind_starts_the_answer(delta: dict[str, object], started: bool) -> None:
    assert assemble([chunk(**delta)])[1].started is started
