"""Everything that can happen in a run, by name: how grave it is, who did it, what it tells.

An event is a chunk seen by its name, so each has exactly one place where it is recorded
(`event_stream`), and docs/events.md lists them all. What no other chunk shows is recorded as an
`event` chunk, whose fields `describe_event` gives.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from agents.core.chunks import EventSeverity, EventSource
from agents.core.control.kinds import ANY, NUMBER, TEXT, TRUTH, ValueKind
from agents.core.sanitize import bound_sentence, clean_value, quote_as_data


@dataclass(frozen=True, slots=True)
class EventField:
    """One thing that an event tells: its kind, and an example of it."""

    kind: ValueKind
    example: Any
    trusted: bool = False
    """Whether its words are ours. What people, models and tools wrote is data: it is quoted to a
    model, and it is what erasure empties."""
    max_length: int = 120
    """Characters of it that are quoted."""
    quoted: bool = False
    """Whether that was done to it already: a sentence of ours, with data in it."""
    cleaned: bool = False
    """Whether whoever records it has seen to it that it can be stored."""


@dataclass(frozen=True, slots=True)
class EventType:
    """What is known of all events of a name."""

    severity: EventSeverity
    source: EventSource
    fields: Mapping[str, EventField]


@dataclass(slots=True)
class AgentEvent:
    """Something that happened in a run. `seq` and `at` are those of the chunk that records it.

    Several are made in every turn, and a frozen one takes eight times as long to make: so it is
    the type checker who sees to it that none is changed.
    """

    name: Final[str]
    seq: Final[int]
    at: Final[float]
    payload: Final[Mapping[str, Any]]
    own_type: Final[EventType | None] = None
    """Of an event whose name is not among EVENT_TYPES: a rule may give any."""

    @property
    def severity(self) -> EventSeverity:
        return (self.own_type or EVENT_TYPES[self.name]).severity

    @property
    def source(self) -> EventSource:
        return (self.own_type or EVENT_TYPES[self.name]).source


OWN_PREFIX = "x."
"""How the names of events begin that rules emit."""
OWN_EVENT = "x.*"
"""What such an event is called where its name is not said, which is somebody's word."""
OWN_RULE = "own:"
"""How the keys of rules begin that somebody has written for their own runs."""


def matches_event(pattern: str, name: str) -> bool:
    """Return whether an event is meant by a pattern: a name, in which `*` stands for anything."""
    first, *others = pattern.split("*")
    if not others:
        return name == pattern
    *middle, last = others
    at = len(first)
    for part in middle:
        if (found := name.find(part, at)) < 0:
            return False
        at = found + len(part)
    return name.startswith(first) and name.endswith(last) and at <= len(name) - len(last)


def is_personal(name: object) -> bool:
    """Return whether the name of a rule or an event is somebody's own word: erasure empties it."""
    return isinstance(name, str) and name.startswith((OWN_RULE, OWN_PREFIX))


def hide_personal(name: str) -> str:
    """Return a name as it stands where it could not be erased."""
    kind = OWN_RULE if name.startswith(OWN_RULE) else OWN_EVENT
    return kind if is_personal(name) else name


def describe_event(name: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the chunk that records an event, with what is ours and what is not set
    apart. A field that its type does not name is not ours."""
    about = EVENT_TYPES[name]
    ours, texts = dict[str, Any](), dict[str, Any]()
    for key, value in payload.items():
        field = about.fields.get(key)
        if field is not None and field.trusted and not is_personal(value):
            ours[key] = value
        else:
            texts[key] = value if field is not None and field.cleaned else clean_value(value)
    return _build_record(name, about, ours, texts)


def describe_own_event(name: str, payload: Mapping[str, Any], about: EventType) -> dict[str, Any]:
    """Return the same for an event that a rule emits, of which nothing is ours."""
    return _build_record(
        OWN_EVENT, about, {}, {"event": name, "payload": clean_value(dict(payload))}
    )


def _build_record(
    name: str, about: EventType, ours: Mapping[str, Any], texts: Mapping[str, Any]
) -> dict[str, Any]:
    known = {"name": name, "severity": about.severity, "source": about.source}
    return {**known, "payload": ours, "texts": texts}


def quote_texts(event: AgentEvent) -> dict[str, Any]:
    """Return what an event tells, everything quoted that is not a number or ours."""
    fields = (event.own_type or EVENT_TYPES[event.name]).fields
    return {
        name: _quote(value, fields.get(name, _FOREIGN)) for name, value in event.payload.items()
    }


def _quote(value: Any, field: EventField) -> Any:
    if value is None or isinstance(value, bool | int | float) or field.trusted:
        return value
    if field.quoted:
        return bound_sentence(str(value))
    return quote_as_data(str(value), field.max_length)


_FOREIGN = EventField(ANY, None)
"""What is known of a field that no event type names: nothing, so it is not ours."""


def _number(example: float) -> EventField:
    return EventField(NUMBER, example, trusted=True)


def _truth(example: bool) -> EventField:
    return EventField(TRUTH, example, trusted=True)


def _word(example: str) -> EventField:
    """Return a text that is ours: a code, a registered name."""
    return EventField(TEXT, example, trusted=True)


def _text(example: str) -> EventField:
    return EventField(TEXT, example)


MAX_NOTE_LENGTH = 300
"""Characters of a note that a model writes to itself."""
_NOTE = {
    "message": EventField(TEXT, "Check the valves, too.", max_length=MAX_NOTE_LENGTH),
    "category": _text("follow-up"),
    "priority": _text("normal"),
}
_CALL = {"id": _text("call-1"), "tool": _text("vault_read")}
_ASKED = {**_CALL, "arguments": EventField(ANY, {"path": "Pumps.md"})}
_RESULT = {**_CALL, "duration_ms": _number(120), "size": _number(4_200)}
_FAILURE = {**_RESULT, "error": _text("There is no note Pump.md.")}
_TURN = {"number": _number(3), "wrap_up": _word("")}
_LIMIT = {"current": _number(7), "limit": _number(10), "percent": _number(70.0)}
_RULE = {
    "rule": _word("own:same-tool-fails"),
    "event": _word("tool.call.failure"),
    "at_seq": _number(14),
    "turn": _number(2),
}

EVENT_TYPES: Mapping[str, EventType] = {
    "query.start": EventType(
        "info", "loop", {"tree": _word("default"), "control": _word("5d41402abc4b2a76")}
    ),
    "session.resumed": EventType(
        "info", "loop", {"messages": _number(6), "continued": _truth(False)}
    ),
    "turn.start": EventType("info", "loop", _TURN),
    "turn.end": EventType(
        "info",
        "model",
        {
            **_TURN,
            "finish_reason": _word("tool_calls"),
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
            "action": _text('vault_read:{"path":"Pumps.md"}'),
            "writes": _truth(False),
            "errors": _number(0),
        },
    ),
    "budget.iteration.warning": EventType("warning", "loop", _LIMIT),
    "budget.iteration.exceeded": EventType("error", "loop", _LIMIT),
    "budget.token.warning": EventType("warning", "loop", _LIMIT),
    "budget.token.exceeded": EventType(
        "error", "loop", {**_LIMIT, "cause": _word("forecast"), "needed": _number(6_200)}
    ),
    "budget.timeout.warning": EventType("warning", "loop", _LIMIT),
    "budget.timeout.exceeded": EventType("error", "loop", _LIMIT),
    "context.approaching_limit": EventType("warning", "loop", _LIMIT),
    "agent.loop.detected": EventType(
        "warning", "loop", {**_LIMIT, "action": _text('vault_list:{"folder":""}')}
    ),
    "agent.turn.repeated": EventType(
        "warning",
        "loop",
        {
            "count": _number(2),
            "digest": _word("9f86d081884c7d65"),
            "action": _text('vault_list:{"folder":""}'),
        },
    ),
    "agent.error.streak": EventType("error", "loop", _LIMIT),
    "agent.self.notify": EventType(
        "info",
        "model",
        {"id": _text("call-1"), **_NOTE, "when": _text("next_turn"), "keep": _truth(False)},
    ),
    "agent.self.remind": EventType("info", "model", {"reminder": _number(7), **_NOTE}),
    "source.stale": EventType("warning", "tool", {**_CALL, "path": _text("Pumps.md")}),
    "subagent.complete": EventType("info", "tool", _RESULT),
    "subagent.failed": EventType("error", "tool", _FAILURE),
    "provider.retry": EventType("info", "model", {"attempt": _number(2), "wait": _number(0.5)}),
    "provider.failed": EventType(
        "error", "model", {"cause": _word("rate_limited"), "error": _text("Try again later.")}
    ),
    "notification.dropped": EventType(
        "info", "loop", {"count": _number(2), "cause": _word("hints")}
    ),
    "rule.fired": EventType(
        "debug",
        "rule",
        {
            **_RULE,
            "mode": _word("on"),
            "name": _text("One tool keeps failing"),
            "effects": EventField(ANY, ["notify: `vault_read` has failed three times."]),
            "state": EventField(ANY, {}),
        },
    ),
    "rule.failed": EventType(
        "warning",
        "rule",
        {
            **_RULE,
            "off": _truth(False),
            "name": _text("One tool keeps failing"),
            "problem": _text("nothing can be divided by zero"),
        },
    ),
    "rule.notify": EventType(
        "info",
        "rule",
        {
            "rule": _word("own:same-tool-fails"),
            "trigger": _word("tool.call.failure"),
            "to": _word("both"),
            "keep": _truth(False),
            "name": _text("One tool keeps failing"),
            "message": EventField(TEXT, "`vault_read` has failed three times.", quoted=True),
        },
    ),
    "rule.not_fired": EventType(
        "debug",
        "rule",
        {
            "count": _number(1),
            "rules": EventField(
                ANY,
                [
                    {
                        "rule": "shipped:slow-tool",
                        "name": "A slow tool",
                        "turn": 2,
                        "seq": 14,
                        "why": "result.duration_ms > 20000 did not hold: 120 and 20,000",
                    }
                ],
                cleaned=True,
            ),
        },
    ),
    "approval.asked": EventType(
        "info",
        "loop",
        {"asker": _word("tool"), "calls": _number(1), "question": _text("May I run this call?")},
    ),
    "approval.answered": EventType(
        "info",
        "loop",
        {
            "decision": _word("approved"),
            "approved": _number(1),
            "calls": _number(1),
            "words": _text("Only the first one, please."),
        },
    ),
    "session.end": EventType(
        "info",
        "loop",
        {
            "reason": _word("completed"),
            "outcome": _word("completed"),
            "turns": _number(4),
            "tokens": _number(6_100),
        },
    ),
}
"""By name, in the order in which a run can meet them."""
