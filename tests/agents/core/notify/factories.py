"""What the tests of notifications share: subscribers from a few words, events from examples."""

from typing import Any

from agents.core.control.events import EVENT_TYPES, AgentEvent
from agents.core.notify import Subscriber, read_subscriber

FAILURE = "tool.call.failure"


def write(
    *,
    types: str = f'["{FAILURE}"]',
    events: str = "",
    batching: str = "",
    output: str = "",
    message: str = "{tool} failed: {error}",
    id: str = "failures",
) -> str:
    """The text of a subscriber; each argument adds lines to one of its tables."""
    return (
        f'[subscriber]\nid = "{id}"\nname = "Failed calls"\n'
        f"[events]\ntypes = {types}\n{events}\n"
        f"[batching]\n{batching}\n"
        f'[output]\nmessage = "{message}"\n{output}\n'
    )


def subscribe(**lines: str) -> Subscriber:
    return read_subscriber(write(**lines))


def happen(name: str = FAILURE, /, seq: int = 1, **payload: Any) -> AgentEvent:
    """An event of that name with what its examples tell, and what else is given."""
    examples = {key: field.example for key, field in EVENT_TYPES[name].fields.items()}
    return AgentEvent(name, seq, float(seq), {**examples, **payload})
