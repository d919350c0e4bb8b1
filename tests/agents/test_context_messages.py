"""Earlier runs as the messages that a model is sent."""

from agents.context_messages import messages_from_chunks
from agents.core.chunks import CallView, Content, ToolCalled, ToolResult, Turn


def test_interim_text_is_left_out_and_its_calls_stay() -> None:
    """What it planned, the calls that its behaviour made, its draft, and its answer."""
    messages = messages_from_chunks(
        [
            Turn(number=1, phase="start", interim="Topics"),
            Content(content="a and b"),
            Turn(number=2, phase="start", interim="Calls"),
            ToolCalled(tool_call=CallView("c1", "read", {}, "pending")),
            ToolResult(tool_call_id="c1", tool_result="page", ok=True, duration_ms=1, order=0),
            Turn(number=2, phase="start", interim="Draft"),
            Content(content="Draft."),
            Turn(number=3, phase="start"),
            Content(content="Report."),
        ]
    )
    assert [message["role"] for message in messages] == ["assistant", "tool", "assistant"]
    assert messages[0]["content"] is None
    assert [call["id"] for call in messages[0]["tool_calls"]] == ["c1"]
    assert messages[2]["content"] == "Report."


def test_an_assistant_does_not_speak_twice_in_a_row() -> None:
    messages = messages_from_chunks(
        [
            Turn(number=1, phase="start"),
            Content(content="First."),
            Turn(number=2, phase="start"),
            Content(content="Second."),
        ]
    )
    assert messages == [{"role": "assistant", "content": "First.\n\nSecond."}]
