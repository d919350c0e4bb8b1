import json

import pytest

from agents.core.ports import (
    CallProgress,
    Finished,
    ModelEvent,
    RawCall,
    ReasoningDelta,
    TextDelta,
    Usage,
)
from agents.llm.answer import AnswerDecoder
from agents.llm.errors import BadResponse, BrokenStream, EmptyStream

from .wire import DONE, STOP, USAGE, delta, text

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
    answer = AnswerDecoder(frozenset({"think"}))
    events = [event for piece in pieces for event in answer.feed(piece)] + answer.finish()
    said = "".join(event.text for event in events if isinstance(event, TextDelta))
    thought = "".join(event.text for event in events if isinstance(event, ReasoningDelta))
    called = sum(event.chars for event in events if isinstance(event, CallProgress))
    pieces_of = TextDelta | ReasoningDelta | CallProgress
    rest: list[ModelEvent] = [event for event in events if not isinstance(event, pieces_of)]
    return said, thought, called, rest, answer.fault.code if answer.fault else None


def test_an_answer_is_the_same_at_every_split() -> None:
    calls = (RawCall("text-1", "think", "{}"), RawCall("c1", "look", "{}"))
    finished = Finished(calls, "stop", Usage(7, 3))
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
    answer = AnswerDecoder()
    answer.feed(stream)
    answer.finish()
    assert type(answer.fault) is fault


@pytest.mark.parametrize("rest", [b"data: \xff\n\n", b"data: garbage\n\n", b"data: {", b"\xe2"])
def test_what_follows_a_complete_answer_does_not_matter(rest: bytes) -> None:
    answer = AnswerDecoder()
    events = answer.feed(text("a") + STOP + rest) + answer.finish()
    assert events == [TextDelta("a"), Finished((), "stop")]
    assert answer.fault is None


def test_a_whole_body_is_an_answer_too() -> None:
    answer = AnswerDecoder()
    message = {"message": {"content": "hello"}, "finish_reason": "stop"}
    events = answer.feed_whole(json.dumps({"choices": [message]}).encode()) + answer.finish()
    assert events == [TextDelta("hello"), Finished((), "stop")]


def test_a_stream_that_is_called_json_is_read_all_the_same() -> None:
    answer = AnswerDecoder()
    events = answer.feed_whole(STREAM) + answer.finish()
    assert isinstance(events[-1], Finished)
    assert answer.fault is None


@pytest.mark.parametrize("body", [b"\xff", b"oops", b""])
def test_a_whole_body_that_is_no_json_is_a_fault(body: bytes) -> None:
    answer = AnswerDecoder()
    answer.feed_whole(body)
    assert answer.finish() == []
    assert isinstance(answer.fault, BadResponse | EmptyStream)
