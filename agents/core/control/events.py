"""Everything that can happen in a run, by name: how grave it is, who did it, what it tells.

An event is a chunk seen by its name, so each has exactly one place where it is recorded
(`event_stream`), and docs/events.md lists them all.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agents.core.control.kinds import ANY, NUMBER, TEXT, TRUTH, ValueKind

EventSeverity = Literal["debug", "info", "warning", "error", "critical"]
EventSource = Literal["loop", "model", "tool"]


@dataclass(frozen=True, slots=True)
class EventField:
    """One thing that an event tells: its kind, and an example of it."""

    kind: ValueKind
    example: Any


@dataclass(frozen=True, slots=True)
class EventType:
    """What is known of all events of a name."""

    severity: EventSeverity
    source: EventSource
    fields: Mapping[str, EventField]


@dataclass(frozen=True, slots=True)
class AgentEvent:
    """Something that happened in a run. `seq` and `at` are those of the chunk that records it."""

    name: str
    seq: int
    at: float
    payload: Mapping[str, Any]

    @property
    def severity(self) -> EventSeverity:
        return EVENT_TYPES[self.name].severity

    @property
    def source(self) -> EventSource:
        return EVENT_TYPES[self.name].source


def _number(example: float) -> EventField:
    return EventField(NUMBER, example)


def _text(example: str) -> EventField:
    return EventField(TEXT, example)


_CALL = {"id": _text("call-1"), "tool": _text("vault_read")}
_ASKED = {**_CALL, "arguments": EventField(ANY, {"path": "Pumps.md"})}
_RESULT = {**_CALL, "duration_ms": _number(120), "size": _number(4_200)}
_FAILURE = {**_RESULT, "error": _text("There is no note Pump.md.")}
_TURN = {"number": _number(3), "wrap_up": _text("")}
_LIMIT = {"current": _number(7), "limit": _number(10), "percent": _number(70.0)}

EVENT_TYPES: Mapping[str, EventType] = {
    "query.start": EventType("info", "loop", {"tree": _text("default")}),
    "turn.start": EventType("info", "loop", _TURN),
    "turn.end": EventType(
        "info",
        "model",
        {
            **_TURN,
            "finish_reason": _text("tool_calls"),
            "tokens": _number(1_650),
            "model_ms": _number(2_300),
        },
    ),
    "tool.call.pending": EventType("info", "model", _ASKED),
    "tool.call.refused": EventType("warning", "loop", _ASKED),
    "tool.call.success": EventType("info", "tool", _RESULT),
    "tool.call.failure": EventType("error", "tool", _FAILURE),
    "tool.call.timeout": EventType("error", "tool", _FAILURE),
    "tool.batch.complete": EventType(
        "info",
        "loop",
        {
            "number": _number(3),
            "action": _text('vault_read({"path":"Pumps.md"})'),
            "writes": EventField(TRUTH, False),
            "errors": _number(0),
        },
    ),
    "budget.iteration.warning": EventType("warning", "loop", _LIMIT),
    "budget.iteration.exceeded": EventType("error", "loop", _LIMIT),
    "budget.token.warning": EventType("warning", "loop", _LIMIT),
    "budget.token.exceeded": EventType("error", "loop", _LIMIT),
    "budget.timeout.warning": EventType("warning", "loop", _LIMIT),
    "budget.timeout.exceeded": EventType("error", "loop", _LIMIT),
    "context.approaching_limit": EventType("warning", "loop", _LIMIT),
    "agent.loop.detected": EventType(
        "warning", "loop", {**_LIMIT, "action": _text('vault_list({"folder":""})')}
    ),
    "agent.error.streak": EventType("error", "loop", _LIMIT),
    "subagent.complete": EventType("info", "tool", _RESULT),
    "subagent.failed": EventType("error", "tool", _FAILURE),
    "provider.retry": EventType("info", "model", {"attempt": _number(2), "wait": _number(0.5)}),
    "provider.failed": EventType(
        "error", "model", {"cause": _text("rate_limited"), "error": _text("Try again later.")}
    ),
    "session.end": EventType(
        "info",
        "loop",
        {
            "reason": _text("completed"),
            "outcome": _text("completed"),
            "turns": _number(4),
            "tokens": _number(6_100),
        },
    ),
}
"""By name, in the order in which a run can meet them."""
