import json

import pytest

from agents.core.messages import (
    CallProgress,
    Finished,
    ModelEvent,
    RawCall,
    ReasoningDelta,
    TextDelta,
    TokenUsage,
)
from agents.llm.decoding.response import ResponseDecoder
from agents.llm.errors import BadResponse, BrokenStream, EmptyStream
from tests.agents.llm.wire import DONE, STOP, USAGE, delta, text

STREAM = b"".join(
    [
        b": PROCESSING\n\n",
        delta(role="assistant", content=""),
        delta(reasoning="hm, I think"),
        text("Grüße, 日本 🦉 <tool_"),
        text('call>{"name": "think"}</tool_call> & more'),
        delta(
            tool_calls=[{"index": 0, "id": "c1", "function": {"name": "look", "arguments": "{"}}]
        ),
        delta(tool_calls=[{"index": 0, "function": {"arguments": "}"}}]),
        STOP,
        USAGE,
        DONE,
    ]
)


Outcome = tuple[str, str, int, list[ModelEvent], str | None]


def outcome(*pieces: bytes) -> Outcome:
    """Joined text, joined reasoning, characters of calls, the rest, and the fault's code."""
    answer = ResponseDecoder(frozenset({"think"}))
    events = [event for piece in pieces for event in answer.feed(piece)] + answer.flush()
    said = "".join(event.text for event in events if isinstance(event, TextDelta))
    thought = "".join(event.text for event in events if isinstance(event, ReasoningDelta))
    called = sum(event.chars for event in events if isinstance(event, CallProgress))
    pieces_of = TextDelta | ReasoningDelta | CallProgress
    rest: list[ModelEvent] = [event for event in events if not isinstance(event, pieces_of)]
    return said, thought, called, rest, answer.fault.code if answer.fault else None


def test_an_answer_is_the_same_at_every_split() -> None:
    calls = (RawCall("text-1", "think", "{}"), RawCall("c1", "look", "{}"))
    finished = Finished(calls, "stop", TokenUsage(7, 3))
    whole = ("Grüße, 日本 🦉  & more", "hm, I think", len("look{}"), [finished], None)
    for cut in range(len(STREAM) + 1):
        assert outcome(STREAM[:cut], STREAM[cut:]) == whole
    assert outcome(*(bytes([byte]) for byte in STREAM)) == whole


def test_an_answer_cut_anywhere_is_broken_or_finished_and_loses_no_text() -> None:
    complete = STREAM.index(b'"stop"')
    for cut in range(len(STREAM)):
        said, thought, _, rest, fault = outcome(STREAM[:cut])
        assert thought == "hm, I think" or not said
        if cut < complete:
            assert rest == []
            assert fault in ("empty_stream", "broken_stream")
        elif cut > complete + len('"stop"}]}'):
            assert (len(rest), fault) == (1, None)


@pytest.mark.parametrize(
    ("stream", "fault"),
    [
        (b"", EmptyStream),
        (DONE, EmptyStream),
        (b": hello\n\n", EmptyStream),
        (text("a"), BrokenStream),
        (text("a") + b'data: {"choi', BrokenStream),
        (text("a") + b"data: \xe2\x82", BrokenStream),
        (text("a") + b"data: garbage\n\n" + STOP, BadResponse),
        (text("a") + b"data: \xff\n\n" + STOP, BadResponse),
    ],
)
def test_a_bad_end_is_a_typed_fault(stream: bytes, fault: type[Exception]) -> None:
    answer = ResponseDecoder()
    answer.feed(stream)
    answer.flush()
    assert type(answer.fault) is fault


@pytest.mark.parametrize("rest", [b"data: \xff\n\n", b"data: garbage\n\n", b"data: {", b"\xe2"])
def test_what_follows_a_complete_answer_does_not_matter(rest: bytes) -> None:
    answer = ResponseDecoder()
    events = answer.feed(text("a") + STOP + rest) + answer.flush()
    assert events == [TextDelta("a"), Finished((), "stop")]
    assert answer.fault is None


def test_a_whole_body_is_an_answer_too() -> None:
    answer = ResponseDecoder()
    message = {"message": {"content": "hello"}, "finish_reason": "stop"}
    events = answer.feed_body(json.dumps({"choices": [message]}).encode()) + answer.flush()
    assert events == [TextDelta("hello"), Finished((), "stop")]


def test_a_stream_that_is_called_json_is_read_all_the_same() -> None:
    answer = ResponseDecoder()
    events = answer.feed_body(STREAM) + answer.flush()
    assert isinstance(events[-1], Finished)
    assert answer.fault is None


@pytest.mark.parametrize("body", [b"\xff", b"oops", b""])
def test_a_whole_body_that_is_no_json_is_a_fault(body: bytes) -> None:
    answer = ResponseDecoder()
    answer.feed_body(body)
    assert answer.flush() == []
    assert isinstance(answer.fault, BadResponse | EmptyStream)
