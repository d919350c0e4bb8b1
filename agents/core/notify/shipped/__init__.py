"""The subscribers that come with Oracle: one file each. The core ones cannot be switched off."""

from collections.abc import Mapping
from functools import cache
from importlib import resources

from agents.core.control.kinds import NUMBER, TEXT, ValueKind
from agents.core.notify.subscriber import Subscriber, read_subscriber

LOOP_FIELDS: Mapping[str, ValueKind] = {
    "action": TEXT,
    "asked": NUMBER,
    "current": NUMBER,
    "filled": NUMBER,
    "forecast": NUMBER,
    "left": NUMBER,
    "limit": NUMBER,
    "next_request": NUMBER,
    "over": NUMBER,
    "remedy": TEXT,
    "rule": TEXT,
    "said": TEXT,
    "sentence": TEXT,
    "window": NUMBER,
}
"""What the loop gives to its own notices: exact numbers, and texts that are fit to be shown."""
LOOP_SUBSCRIBERS = (
    "iterations",
    "tokens",
    "time",
    "context",
    "loop",
    "repeated",
    "reached",
    "tool-limit",
)
OTHER_SUBSCRIBERS = (
    "reminders",
    "tool-failures",
    "subagent-failed",
    "source-stale",
    "self-notes",
    "rule-notify",
)


@cache
def read_shipped_text(name: str) -> str:
    return resources.files(__package__).joinpath(f"{name}.toml").read_text("utf-8")


def _load(name: str, fields: Mapping[str, ValueKind] | None = None) -> Subscriber:
    return read_subscriber(read_shipped_text(name), may_be_core=True, fields=fields)


LOOP: Mapping[str, Subscriber] = {name: _load(name, LOOP_FIELDS) for name in LOOP_SUBSCRIBERS}
"""How the loop words its own notices, by id: when one is due, the loop knows."""
SHIPPED: tuple[Subscriber, ...] = tuple(map(_load, OTHER_SUBSCRIBERS))
"""What a run's bus has besides, unless it was switched off."""
RULE_NOTIFY = SHIPPED[-1]
"""What rules say, wherever there are rules."""
