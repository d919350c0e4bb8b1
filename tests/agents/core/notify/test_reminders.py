"""What a run keeps for a later one, told by its chunks alone."""

from collections.abc import Sequence
from typing import Any

from agents.core.chunks import (
    CallView,
    EventRecord,
    Hint,
    OracleStreamChunk,
    ToolCalled,
    ToolResult,
)
from agents.core.control.events import describe_event
from agents.core.notify.reminders import KeptNote, ReminderLog


def write(seq: int, message: str, *, ok: bool = True, **arguments: Any) -> list[OracleStreamChunk]:
    given = {"message": message, **arguments}
    view = CallView(f"c{seq}", "notify_self", given, "pending")
    result = ToolResult(
        seq=seq, tool_call_id=f"c{seq}", tool_result="Noted.", ok=ok, duration_ms=1, order=0
    )
    return [ToolCalled(seq=seq - 1, tool_call=view), result]


def remind(seq: int, reminder: int) -> EventRecord:
    about = {"reminder": reminder, "message": "m", "category": "", "priority": "normal"}
    return EventRecord(seq=seq, **describe_event("agent.self.remind", about))


def read_reminders(chunks: Sequence[OracleStreamChunk]) -> ReminderLog:
    log = ReminderLog()
    for chunk in chunks:
        log.add(chunk)
    return log


def kept(chunks: Sequence[OracleStreamChunk]) -> list[KeptNote]:
    return read_reminders(chunks).kept


def test_a_note_that_is_to_be_kept_and_was_not_told_is_kept() -> None:
    chunks = [
        *write(2, "a", keep=True, category="c", priority="high"),
        *write(4, "b", keep=True),
        *write(6, "c"),
        *write(8, "d", keep=True, ok=False),
        *write(10, "e", keep="yes"),
        Hint(seq=12, text="told", events=(4, 6)),
    ]
    assert kept(chunks) == [KeptNote(2, "a", "c", "high")]


def test_what_a_subagent_writes_or_is_told_is_not_the_runs() -> None:
    chunks = [*write(2, "a", keep=True), Hint(seq=3, text="t", events=(2,), parent="c9")]
    assert [note.seq for note in kept(chunks)] == [2]


def test_a_reminder_is_told_when_the_model_has_read_it() -> None:
    chunks: list[OracleStreamChunk] = [remind(2, 17), remind(3, 18)]
    chunks.append(Hint(seq=5, text="t", events=(3,)))
    assert read_reminders(chunks).told == [18]
