"""The cards of the thread tools: entries with their types and links, read from what was told."""

from typing import Any
from uuid import UUID

import pytest

from agents.core.chunks import CallView, ToolCalled, ToolResult
from chat.rendering.answer import AnswerView
from chat.rendering.fragments import render_answer
from chat.rendering.thread_results import MAX_TEXT_CHARS, ShownEntry, read_entries
from tests.chat.run_chunks import RUN, a_run

PROJECT = UUID(int=7)
DATE = "last on 2026-01-01"


def read(result: str) -> list[tuple[str, int | None, str, str, str]]:
    shown = read_entries(result, PROJECT)
    return [(e.thread, e.number, e.kind, e.rest, e.text) for e in shown]


def test_hits_are_read_with_their_lines() -> None:
    told = (
        "1. power supply#3 (score 0.83) decision, 2026-02-26\n   We take LFP.\n"
        "2. a (b)#12 (score 0.10) insight, 2026-03-01, archived\n   #9 (score 1.00) x\n"
        "No entry has: zeppelin."
    )
    assert read(told) == [
        ("power supply", 3, "decision", "2026-02-26", "We take LFP."),
        ("a (b)", 12, "insight", "2026-03-01, archived", "#9 (score 1.00) x"),
    ]
    (first, _) = read_entries(told, PROJECT)
    assert first.url == f"/threads/{PROJECT}/power%20supply?entry=3#entry-3"


def test_a_reading_is_read_entry_by_entry() -> None:
    told = (
        "power (2 entries, last on 2026-02-26)\n#1 research, 2026-02-12, ines\n  | One\n  | \n"
        "  | #2 decision, 2026-02-26\n#2 decision, 2026-02-26\n  | Two"
    )
    assert read(told) == [
        ("power", 1, "research", "2026-02-12, ines", "One\n\n#2 decision, 2026-02-26"),
        ("power", 2, "decision", "2026-02-26", "Two"),
    ]


def test_a_list_names_threads_and_a_push_its_entry() -> None:
    told = (
        "2 threads\n- power (archived, 1 entry, last on 2026-02-26)\n"
        "- a (2 entries, last on 2026-01-01)"
    )
    assert [each[:4] for each in read(told)] == [
        ("power", None, "", "archived, 1 entry, last on 2026-02-26"),
        ("a", None, "", "2 entries, last on 2026-01-01"),
    ]
    assert read("Made the thread and added a added b#1 (thought).")[0][:3] == (
        "a added b",
        1,
        "thought",
    )


@pytest.mark.parametrize(
    "told", ["", "There are no active threads.", "No entry matches 'x'.", "\n\n", "#", "- (", "x#1"]
)
def test_what_names_nothing_is_no_list(told: str) -> None:
    assert read_entries(told, PROJECT) == []


def test_a_long_text_is_cut() -> None:
    (entry,) = read_entries(
        f"p (1 entry, last on 2026-01-01)\n#1 thought, x\n  | {'a' * 9_000}", PROJECT
    )
    assert isinstance(entry, ShownEntry)
    assert len(entry.text) == MAX_TEXT_CHARS + 1


def render_result(name: str, arguments: Any, told: str) -> str:
    answer = AnswerView(RUN)
    answer.apply(ToolCalled(tool_call=CallView("c", name, arguments, "running")))
    answer.apply(ToolResult(tool_call_id="c", tool_result=told, ok=True, duration_ms=5, order=0))
    return render_answer(answer, a_run())


PAYLOAD = "<img src=x onerror=alert(1)>"
CASES = [
    ("thread_list", {"status": PAYLOAD}, f"1 thread\n- {PAYLOAD} (1 entry, last on 2026-01-01)"),
    (
        "thread_read",
        {"thread": PAYLOAD},
        f"{PAYLOAD} (1 entry, {DATE})\n#1 decision, {PAYLOAD}\n  | {PAYLOAD}",
    ),
    (
        "thread_seek",
        {"queries": [PAYLOAD]},
        f"1. {PAYLOAD}#1 (score 0.50) decision, 2026-01-01\n   {PAYLOAD}",
    ),
    ("thread_push", {"thread": PAYLOAD, "content": PAYLOAD}, f"Added {PAYLOAD}#1 (decision)."),
    ("thread_push", "not even JSON", PAYLOAD),
]


@pytest.mark.parametrize(("name", "arguments", "told"), CASES)
def test_no_name_and_no_text_becomes_part_of_a_card(name: str, arguments: Any, told: str) -> None:
    html = render_result(name, arguments, told)
    assert "<img" not in html
    assert "&lt;img src=x" in html


def test_a_pushed_entry_is_shown_with_its_type_and_text() -> None:
    arguments = {"thread": "power", "content": "We take LFP.", "type": "decision"}
    html = render_result("thread_push", arguments, "Made the thread and added power#1 (decision).")
    assert '<span class="badge decision">Decision</span>' in html
    assert "We take LFP." in html
    assert "Add to thread" in html
    assert "?entry=1#entry-1" in html
