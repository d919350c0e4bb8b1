import pytest

from agents.core.messages import CallProgress, Finished, ReasoningDelta, TextDelta
from agents.llm.decoding.response import ResponseDecoder
from agents.llm.decoding.think_tags import ThinkTagSplitter
from tests.agents.llm.wire import DONE, STOP, text


def split_up(*pieces: str) -> tuple[str, str]:
    """What was thought and what was said."""
    tags = ThinkTagSplitter()
    found = [piece for fed in pieces for piece in tags.feed(fed)] + tags.flush()
    thought = "".join(piece for is_reasoning, piece in found if is_reasoning)
    return thought, "".join(piece for is_reasoning, piece in found if not is_reasoning)


@pytest.mark.parametrize(
    ("written", "thought", "said"),
    [
        ("<think>hm</think>So.", "hm", "So."),
        ("\n <think>\nhm\n</think>\n\nSo.", "\nhm\n", "\n\nSo."),
        ("<think></think>So.", "", "So."),
        ("<think>a < b </thin </think>So.", "a < b </thin ", "So."),
        ("<think>never closed </th", "never closed </th", ""),
        ("So <think>hm</think> it is.", "", "So <think>hm</think> it is."),
        ("<thinking>So.", "", "<thinking>So."),
        ("  <thi", "", "  <thi"),
        ("<think>a</think>b<think>c</think>", "a", "b<think>c</think>"),
        ("", "", ""),
    ],
)
def test_reasoning_at_the_beginning_is_told_apart_at_every_split(
    written: str, thought: str, said: str
) -> None:
    for cut in range(len(written) + 1):
        assert split_up(written[:cut], written[cut:]) == (thought, said)
    assert split_up(*written) == (thought, said)


def events(*pieces: bytes) -> list[object]:
    decoder = ResponseDecoder(frozenset({"look"}))
    made = [event for piece in pieces for event in decoder.feed(piece)] + decoder.flush()
    return [event for event in made if not isinstance(event, CallProgress)]


def test_an_answer_with_tags_becomes_reasoning_and_text() -> None:
    stream = text("<thi") + text("nk>hm</th") + text("ink>So.") + STOP + DONE
    assert events(stream) == [ReasoningDelta("hm"), TextDelta("So."), Finished((), "stop")]


def test_a_call_written_inside_the_tags_is_a_call() -> None:
    stream = text('<think>I will <tool_call>{"name": "look"}</tool_call></think>') + STOP + DONE
    thought, finished = events(stream)
    assert thought == ReasoningDelta("I will ")
    assert isinstance(finished, Finished)
    assert [call.name for call in finished.calls] == ["look"]


def test_what_is_held_back_is_not_lost_when_the_stream_breaks() -> None:
    decoder = ResponseDecoder()
    decoder.feed(text("  <thi"))
    assert decoder.started
    assert decoder.flush_raw() == [TextDelta("  <thi")]
