"""The words of rules: the hooks and what they listen to, and the names of each in expressions."""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from agents.core.control.events import EVENT_TYPES, OWN_PREFIX, matches_event
from agents.core.control.facts import HISTORY, PROJECT, RESULT, RESULT_EVENTS, TURN, USER
from agents.core.control.kinds import ANY, TEXT, TRUTH, MapKind, RecordKind, ValueKind, join_kinds
from agents.core.control.language import Language

HOOKS: Mapping[str, tuple[str, ...]] = {
    "on_query_start": ("query.start",),
    "on_turn_start": ("turn.start",),
    "on_turn_end": ("turn.end",),
    "on_tool_call": ("tool.call.pending",),
    "on_tool_complete": ("tool.call.success", "tool.call.failure", "tool.call.timeout"),
    "on_tool_failure": ("tool.call.failure", "tool.call.timeout"),
    "on_session_end": ("session.end",),
}
HEARD_EVENTS = tuple(
    name for name in EVENT_TYPES if not name.startswith(("rule.", "notification."))
)
"""What rules may listen to: not to what is said by them, or of them."""
_NO_RESULT = RecordKind("result where no call has ended", {})


def match_events(pattern: str) -> tuple[str, ...]:
    """Return the known events that a name stands for, or one like `tool.call.*`."""
    return tuple(name for name in HEARD_EVENTS if matches_event(pattern, name))


def is_own_event(pattern: str) -> bool:
    """Return whether a name, or one like `x.*`, is that of events that rules emit."""
    return pattern.startswith(OWN_PREFIX) and len(pattern) > len(OWN_PREFIX)


@lru_cache(maxsize=256)
def build_language(patterns: tuple[str, ...]) -> Language:
    """Return the language of expressions that look at these events; at none: it is open which."""
    names = [name for pattern in patterns for name in match_events(pattern)]
    has_result = not patterns or any(name in RESULT_EVENTS for name in names)
    fields = collect_fields(patterns)
    payload = MapKind(ANY) if fields is None else RecordKind("event.payload", fields)
    event = RecordKind(
        "event", {"type": TEXT, "source": TEXT, "severity": TEXT, "payload": payload}
    )
    return Language(
        names={
            "turn": TURN,
            "history": HISTORY,
            "user": USER,
            "project": PROJECT,
            "state": MapKind(ANY),
            "event": event,
            "result": RESULT if has_result else _NO_RESULT,
        }
    )


def collect_fields(patterns: Iterable[str]) -> dict[str, ValueKind] | None:
    """Return what these events tell, with the kind of each field; None if that is open."""
    patterns = tuple(patterns)
    if not patterns or any(map(is_own_event, patterns)):
        return None
    kinds: dict[str, list[ValueKind]] = {}
    for name in (name for pattern in patterns for name in match_events(pattern)):
        for field, about in EVENT_TYPES[name].fields.items():
            kinds.setdefault(field, []).append(about.kind)
        if name.startswith("tool.call."):
            kinds.setdefault("writes", []).append(TRUTH)
    return {field: join_kinds(found) for field, found in kinds.items()}


@lru_cache(maxsize=4_096)
def listens_to(patterns: tuple[str, ...], name: str) -> bool:
    """Return whether one of these patterns stands for the name of an event."""
    if not name.startswith(OWN_PREFIX):
        return any(name in match_events(pattern) for pattern in patterns)
    return any(is_own_event(one) and matches_event(one, name) for one in patterns)
