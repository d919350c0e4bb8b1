"""A run read back from its chunks."""

from agents.core.chunks import (
    CallStatus,
    CallView,
    Content,
    Done,
    Error,
    OracleStreamChunk,
    Source,
    SourceRef,
    SystemMessage,
    Thinking,
    ToolCalled,
    ToolResult,
    Turn,
)
from agents.core.run_record import RunRecord


def recorded(*chunks: OracleStreamChunk) -> RunRecord:
    record = RunRecord()
    for chunk in chunks:
        record.add(chunk)
    return record


def called(call_id: str, status: CallStatus, at: float, name: str = "look") -> ToolCalled:
    return ToolCalled(tool_call=CallView(call_id, name, {}, status), at=at)


def result(call_id: str) -> ToolResult:
    return ToolResult(tool_call_id=call_id, tool_result="x", ok=True, duration_ms=1, order=0)


def start(number: int) -> Turn:
    return Turn(number=number, phase="start")


def test_the_answer_is_every_character_with_turns_set_apart() -> None:
    record = recorded(
        start(1),
        Content(content="Let me "),
        Thinking(content="hm"),
        Content(content="look."),
        start(2),
        start(3),
        Content(content="Here."),
    )
    assert record.answer == "Let me look.\n\nHere."


def test_text_before_any_turn_is_kept_too() -> None:
    assert recorded(Content(content="early")).answer == "early"


def test_what_a_subagent_says_is_not_part_of_the_run() -> None:
    notice = SystemMessage(
        system_type="no_progress", system_message="m", severity="warning", metadata={}, parent="c1"
    )
    record = recorded(Content(content="sub", parent="c1"), notice, called("c1", "pending", 1))
    assert record.answer == ""
    assert record.notices == []
    assert set(record.calls) == {"c1"}


def test_the_heartbeat_names_the_running_tools_and_since_when() -> None:
    record = recorded(
        called("a", "pending", 1.0),
        called("b", "pending", 1.0, "read"),
        called("c", "refused", 1.0),
        called("a", "running", 2.0),
        called("b", "running", 5.0, "read"),
    )
    status = record.status(9.0)
    assert status is not None
    assert (status.tools, status.seconds) == (("look", "read"), 7.0)
    record.add(result("a"))
    status = record.status(9.0)
    assert status is not None
    assert (status.tools, status.seconds) == (("read",), 4.0)
    record.add(result("b"))
    assert record.status(9.0) is None


def test_sources_errors_and_the_end_are_kept() -> None:
    source = Source(source=SourceRef("notes/plan.md", "vault"))
    error = Error(code="cancelled", error="Stopped.")
    done = Done(
        termination_reason="user_cancelled",
        outcome="cancelled",
        turns_used=1,
        tokens_used=2,
        usage_source="provider",
        model_used="m",
    )
    record = recorded(source, error, done)
    assert (record.sources, record.error, record.done) == ([source], error, done)


def test_a_plan_is_not_part_of_the_answer() -> None:
    record = RunRecord()
    for chunk in (
        Turn(number=1, phase="start", interim="Plan"),
        Content(content="1. Look."),
        Turn(number=1, phase="end", finish_reason="stop", interim="Plan"),
        Turn(number=2, phase="start"),
        Content(content="Found."),
    ):
        record.add(chunk)
    assert record.answer == "Found."
    assert record.interims == [("Plan", ["1. Look."])]
