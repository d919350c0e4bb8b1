"""Previews of a subscriber's notices, made of the examples of its events: no run, no model."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.core.chunks import EventRecord, OracleStreamChunk, SystemMessage
from agents.core.control.event_stream import EventStream
from agents.core.control.events import EVENT_TYPES, AgentEvent, EventType
from agents.core.notify.shipped import LOOP
from agents.core.notify.subscriber import Subscriber
from agents.core.notify.words import ToldEvent, build_loop_notice, build_notification

_LOOP_EXAMPLES: Mapping[str, Any] = {
    "action": "vault_list",
    "asked": 12,
    "current": 8,
    "filled": 82,
    "forecast": 9_000,
    "limit": 10,
    "next_request": 4_200,
    "over": 2,
    "remedy": "Raise the limit, or ask a narrower question.",
    "rule": "`Five searches are enough`",
    "said": "It has searched five times.",
    "sentence": "It reached a limit.",
    "window": 6,
}
_OWN_EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "tokens": {"current": 41_000, "limit": 50_000},
    "time": {"current": 96, "limit": 120},
    "context": {"current": 26_200, "limit": 32_000},
    "loop": {"current": 4, "limit": 3},
}
"""What a core subscriber's numbers are like, by its id."""
_OWN_TYPE = EventType("info", "rule", {})
SILENT_EVENTS = frozenset(
    name for one in LOOP.values() if one.words.message is None for name in one.types
)
"""Events that show that the loop has told the model something, and nobody else."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What is said of one event, and what the model is told of two. Empty where nothing is."""

    message: str
    hint: str
    hint_of_two: str = ""


def build_preview(subscriber: Subscriber) -> Preview:
    """Say what a subscriber says, of examples."""
    if subscriber.is_said_by_loop:
        values = {**_LOOP_EXAMPLES, **_OWN_EXAMPLES.get(subscriber.id, {})}
        notice = build_loop_notice(subscriber, "", values, {})
        return Preview(notice.message, notice.hint)
    one, other = (ToldEvent(_build_example(subscriber, seq)) for seq in (1, 2))
    said = build_notification(subscriber, [one])
    return Preview(said.message, said.hint, build_notification(subscriber, [one, other]).hint)


def _build_example(subscriber: Subscriber, seq: int) -> AgentEvent:
    """Return an event that it listens to. What a rule's event tells is not known before."""
    name = min(subscriber.types)
    if (known := EVENT_TYPES.get(name)) is None:
        return AgentEvent(name, seq, float(seq), {}, _OWN_TYPE)
    payload = {field: about.example for field, about in known.fields.items()}
    return AgentEvent(name, seq, float(seq), payload)


def name_speakers(chunk: OracleStreamChunk) -> set[str]:
    """Return the ids of the subscribers that a chunk shows to have spoken."""
    if chunk.parent or not isinstance(chunk, SystemMessage | EventRecord):
        return set()
    if isinstance(chunk, SystemMessage) and (name := chunk.metadata.get("subscriber")):
        return {str(name)}
    events = {event.name for event in EventStream().feed(chunk)}
    if isinstance(chunk, SystemMessage) and chunk.system_type == LOOP["loop"].system_type:
        return {"loop"}  # its event was recorded before the calls were run
    if isinstance(chunk, EventRecord):  # the loop tells the model of it, and nobody else
        return {one.id for one in LOOP.values() if one.types & events & SILENT_EVENTS}
    alike = [one.id for one in LOOP.values() if one.system_type == chunk.system_type]
    heard = [one.id for one in LOOP.values() if one.types & events]
    if not events:
        return set(alike) if len(alike) == 1 else set()
    return {name for name in heard if name in alike} or set(heard)
