"""The timeline: everything is where it happened, and it stays readable whatever a run did."""

import random
import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.admin.run.decisions import build_trace
from agents.admin.run.event_rows import Event
from agents.admin.run.history import RunHistory
from agents.admin.run.summary import sum_usage_by_source
from agents.admin.run.timeline import MAX_LANES, build_ticks, build_timeline
from agents.admin.run.timeline_shapes import LEFT, PLOT, Timeline
from agents.core.chunks import CHUNK_TYPES

BEGAN = 1_750_000_000.0


class Tape:
    """Events one after the other, with the time that passes between them."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.now = BEGAN

    def add(self, kind: str, after: float = 0.0, **data: Any) -> None:
        self.now += after
        self.events.append(Event(len(self.events) + 1, kind, self.now, data))

    def call(self, call_id: str, status: str, name: str = "look", after: float = 0.0) -> None:
        call = {"id": call_id, "name": name, "status": status}
        self.add("tool_call", after, tool_call=call)

    def result(self, call_id: str, ok: bool = True, after: float = 0.0, **more: Any) -> None:
        self.add("tool_result", after, tool_call_id=call_id, ok=ok, duration_ms=100, **more)

    def turn(self, number: int, calls: int = 0, **more: Any) -> None:
        self.add("turn", number=number, phase="start", **more)
        for n in range(calls):
            self.call(f"{number}.{n}", "pending")
        for n in range(calls):
            self.call(f"{number}.{n}", "running", after=0.01)
        for n in range(calls):
            self.result(f"{number}.{n}", ok=n % 7 > 0, after=0.1)
        self.add(
            "turn", 1.0, number=number, phase="end", answered=True, model_ms=500,
            prompt_tokens=80, completion_tokens=20, usage_source="provider",
        )  # fmt: skip
        check = {"rule": "max_iterations", "value": number, "limit": 50, "fired": False}
        decision: dict[str, Any] = {"checkpoint": "turn", "continue": True, "checks": [check]}
        self.add("decision", **decision)

    @property
    def story(self) -> RunHistory:
        return RunHistory.from_events(self.events, BEGAN, self.now)

    @property
    def line(self) -> Timeline:
        return build_timeline(self.story, BEGAN, self.now)


def test_bars_are_where_things_happened() -> None:
    tape = Tape()
    tape.turn(1, calls=1)
    tape.add("turn", number=2, phase="start", wrap_up="max_iterations")
    tape.add("turn", tape.now - BEGAN, number=2, phase="end", answered=True, model_ms=0)
    line = tape.line
    first, second = line.turns
    assert (first.left, round(first.width)) == (0, PLOT / 2)
    assert (round(second.left), second.css_class) == (PLOT / 2, "wrap-up")
    assert [bar.css_class for bar in line.bars] == ["model", "model", "failed"]
    assert "1 tool call, 1 failed" in line.summary


def test_calls_at_the_same_time_are_in_rows_of_their_own() -> None:
    tape = Tape()
    tape.turn(1, calls=3)
    tools = [bar for bar in tape.line.bars if bar.css_class != "model"]
    assert len({bar.row for bar in tools}) == 3


@pytest.mark.parametrize("calls", [10, 20])
def test_fifty_turns_and_many_calls_stay_bounded_and_apart(calls: int) -> None:
    tape = Tape()
    for number in range(1, 51):
        tape.turn(number, calls)
    line = tape.line
    assert len(line.turns) == 50
    assert line.rows <= 4 + MAX_LANES
    assert len(line.bars) <= 50 + calls * 50
    assert sum(len(bar.titles) for bar in line.bars) == 50 + calls * 50  # none is lost
    for row in range(2, 2 + MAX_LANES):
        bars = sorted((bar for bar in line.bars if bar.row == row), key=lambda bar: bar.left)
        assert all(a.left < b.left for a, b in pairwise(bars))


def test_ten_thousand_calls_are_drawn_in_a_bounded_picture() -> None:
    tape = Tape()
    for number in range(1, 501):
        tape.turn(number, 20)
    line = tape.line
    drawn = len(line.turns) + len(line.bars) + len(line.notices) + len(line.decisions)
    assert drawn < 2_500
    assert line.more_turns == 380
    assert sum(len(row.calls) for row in line.lines) <= 120 * 20


def test_everything_lies_inside_the_picture() -> None:
    tape = Tape()
    chance = random.Random(6)
    for number in range(1, 20):
        tape.turn(number, chance.randrange(12))
        tape.now += chance.choice([-5, 0, 30])  # a clock that was set back
    tape.add("system", system_type="limit_warning", metadata={})
    line = build_timeline(tape.story, BEGAN + 3, BEGAN + 20)
    for bar in (*line.turns, *line.bars, *line.notices, *line.decisions):
        assert 0 <= bar.left <= bar.left + bar.width <= PLOT
        assert re.fullmatch(r"[\d.]+", bar.x)


@pytest.mark.parametrize("seconds", [0.001, 0.3, 1, 7, 59.9, 120, 600, 10**6, 10**9])
def test_the_axis_has_a_few_round_moments(seconds: float) -> None:
    found = build_ticks(seconds)
    assert 4 <= len(found) <= 12
    assert all(LEFT <= float(tick.x) <= LEFT + PLOT + 0.01 for tick in found)
    assert len({tick.label for tick in found}) == len(found)


def test_a_call_without_a_result_is_running_or_after_the_end_unknown() -> None:
    tape = Tape()
    tape.add("turn", number=1, phase="start")
    tape.call("a", "running", after=1.0)
    tape.now += 5
    assert [call.status for call in RunHistory.from_events(tape.events, BEGAN, None).calls] == [
        "running"
    ]
    assert [call.status for call in tape.story.calls] == ["unknown"]


def test_what_a_subagent_does_is_counted_with_its_call() -> None:
    tape = Tape()
    tape.add("turn", number=1, phase="start")
    tape.call("a", "running", "delegate_librarian")
    tape.result("inner", parent="a")
    tape.result("a", after=1.0)
    (call,) = tape.story.calls
    assert call.subagent_calls == 1
    assert "1 of a subagent" in call.display


def test_usage_is_told_by_source() -> None:
    tape = Tape()
    tape.turn(1)
    tape.turn(2)
    tape.add("turn", number=3, phase="start")
    tape.add("turn", number=3, phase="end", prompt_tokens=7, usage_source="estimate")
    assert [(row.label, row.turns, row.total) for row in sum_usage_by_source(tape.story)] == [
        ("Counted by the provider", 2, 200),
        ("Estimated", 1, 7),
    ]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
names = st.sampled_from(
    ["number", "phase", "tool_call", "tool_call_id", "checks", "metadata", "wrap_up", "model_ms",
     "duration_ms", "parent", "continue", "reason", "prompt_tokens", "ok", "answered"]
)  # fmt: skip
wild = st.builds(
    Event,
    seq=st.integers(0, 10**9),
    kind=st.sampled_from(sorted(CHUNK_TYPES)),
    at=st.none() | st.floats(-1e12, 1e12),
    data=st.dictionaries(names, json_values | st.sampled_from(["start", "end", "a", "running"])),
)


@given(st.lists(wild, max_size=30))
def test_whatever_is_stored_can_be_drawn_and_told(events: list[Event]) -> None:
    story = RunHistory.from_events(events, BEGAN, BEGAN + 60)
    line = build_timeline(story, BEGAN, BEGAN + 60)
    assert all(0 <= bar.left <= PLOT for bar in (*line.turns, *line.bars))
    assert len(build_trace(story, BEGAN).steps) == len(story.checkpoints)
    assert sum_usage_by_source(story) is not None


@pytest.mark.parametrize(
    ("kind", "severity", "tone"),
    [
        ("limit_warning", "warning", "limit"),
        ("limit_reached", "error", "limit ends"),
        ("no_progress", "error", "limit ends"),
        ("provider", "error", "error"),
        ("interrupted", "error", "error"),
        ("cancelled", "info", "neutral"),
    ],
)
def test_a_notice_is_coloured_by_its_type(kind: str, severity: str, tone: str) -> None:
    tape = Tape()
    tape.turn(1)
    tape.add("system", system_type=kind, severity=severity)
    assert [mark.css_class for mark in tape.line.notices] == [tone]
