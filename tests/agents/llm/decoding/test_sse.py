from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.llm.decoding.sse import MAX_EVENT_LENGTH, SSEDecoder
from agents.llm.errors import BadResponse, BrokenStream
from tests.agents.llm.wire import repeatable

Decoded = tuple[list[str], type[Exception] | None]

SAMPLES: dict[bytes, list[str]] = {
    b"data: one\n\ndata: two\n\n": ["one", "two"],
    b"data: one\r\n\r\ndata: two\r\n\r\n": ["one", "two"],
    b"data: one\r\rdata: two\r\r": ["one", "two"],
    b": OPENROUTER PROCESSING\n\ndata: one\n\n": ["one"],
    b"data: one\ndata: more\ndata:last\n\n": ["one\nmore\nlast"],
    b"data:one\n\ndata:  two\n\n": ["one", " two"],
    b"event: x\nid: 7\nretry: 5\ndata: one\n\n": ["one"],
    b"\xef\xbb\xbfdata: one\n\n": ["one"],
    b"data: one\n\ndata: [DONE]": ["one", "[DONE]"],
    b"data: one\n\n\n\n\ndata: two\n": ["one", "two"],
    "data: Grüße 日本 🦉\n\n".encode(): ["Grüße 日本 🦉"],
    b"": [],
    b"data\n\ndatum: x\n\n": [],
}


def decode(*pieces: bytes) -> Decoded:
    decoder = SSEDecoder()
    payloads = [payload for piece in pieces for payload in decoder.feed(piece)]
    payloads += decoder.flush()
    return payloads, type(decoder.fault) if decoder.fault else None


@pytest.mark.parametrize(("stream", "payloads"), SAMPLES.items())
def test_a_stream_gives_the_same_payloads_however_it_is_split(
    stream: bytes, payloads: list[str]
) -> None:
    for cut in range(len(stream) + 1):
        assert decode(stream[:cut], stream[cut:]) == (payloads, None)
    assert decode(*(bytes([byte]) for byte in stream)) == (payloads, None)


@repeatable
@given(
    st.lists(
        st.sampled_from([b"data: ", b"data:", b"x", b"\n", b"\r", b":", "ü".encode(), b"\xff"])
    ),
    st.lists(st.integers(0, 40)),
)
def test_any_bytes_give_the_same_for_every_split(parts: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(parts)
    edges = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    pieces = [stream[start:end] for start, end in pairwise(edges)]
    assert decode(*pieces) == decode(stream)


def test_invalid_utf8_is_a_fault_after_what_came_before() -> None:
    stream = b"data: one\n\ndata: \xff\n\ndata: two\n\n"
    for cut in range(len(stream) + 1):
        assert decode(stream[:cut], stream[cut:]) == (["one"], BadResponse)


def test_a_character_cut_off_at_the_end_is_a_broken_stream() -> None:
    assert decode(b"data: one\n\ndata: \xc3") == (["one"], BrokenStream)


@pytest.mark.parametrize("size", [1 << 12, 1 << 16, 1 << 22])
def test_an_over_long_line_is_a_fault_after_what_came_before(size: int) -> None:
    stream = b"data: one\n\ndata: " + b"x" * (MAX_EVENT_LENGTH + 1) + b"\n\ndata: two\n\n"
    pieces = [stream[start : start + size] for start in range(0, len(stream), size)]
    assert decode(*pieces) == (["one"], BadResponse)


@pytest.mark.parametrize("size", [1 << 16, 1 << 22])
def test_an_over_long_event_of_many_lines_is_a_fault(size: int) -> None:
    stream = (b"data: " + b"x" * 10_000 + b"\n") * 110 + b"\n"
    pieces = [stream[start : start + size] for start in range(0, len(stream), size)]
    assert decode(*pieces) == ([], BadResponse)


def test_a_long_line_in_small_pieces_is_put_together() -> None:
    payload = "x" * 100_000
    pieces = [b"data: ", *([b"x" * 10] * 10_000), b"\n\n"]
    assert decode(*pieces) == ([payload], None)


def test_nothing_is_decoded_after_a_fault() -> None:
    decoder = SSEDecoder()
    decoder.feed(b"\xff")
    assert decoder.feed(b"data: one\n\n") == []
    assert decoder.flush() == []
