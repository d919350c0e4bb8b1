"""A rule: when it looks, what has to hold, and what it does then. A rule may only tighten."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from agents.core.control import Expression
from agents.core.control.condition import Condition
from agents.core.control.facts import EVENT_PARTS
from agents.core.control.template import Template

MAX_VALUE_LENGTH = 2_048
"""Of a value that a rule remembers or tells, as JSON."""
RuleMode = Literal["on", "off", "shadow"]
RuleLevel = Literal["shipped", "site", "project", "own"]
LEVELS: tuple[RuleLevel, ...] = get_args(RuleLevel)
_BINDING: tuple[RuleLevel, ...] = ("site", "project", "shipped", "own")


@dataclass(frozen=True, slots=True)
class Notify:
    """Say something, to the user, the model or both."""

    type: ClassVar[str] = "notify"
    message: Template
    to: tuple[str, ...] = ("user", "model")
    keep: bool = False
    """Whether it is kept as a reminder for the next run."""


@dataclass(frozen=True, slots=True)
class Log:
    """Write a line into the run's record."""

    type: ClassVar[str] = "log"
    message: Template


@dataclass(frozen=True, slots=True)
class SetState:
    """Remember a value for the rule's next look: as written, or worked out."""

    type: ClassVar[str] = "set_state"
    key: str
    value: Any = None
    expression: Expression | None = None


@dataclass(frozen=True, slots=True)
class EmitEvent:
    """Make an event of one's own, which other rules can listen to."""

    type: ClassVar[str] = "emit_event"
    event: str
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StopRun:
    """End the run at the next checkpoint, with a last answer."""

    type: ClassVar[str] = "stop"
    message: Template


@dataclass(frozen=True, slots=True)
class Withhold:
    """Offer a tool no more, for the rest of the run."""

    type: ClassVar[str] = "withhold"
    tool: str


@dataclass(frozen=True, slots=True)
class AskAgain:
    """Send an answer back, once, saying why."""

    type: ClassVar[str] = "ask_again"
    message: Template


@dataclass(frozen=True, slots=True)
class Hold:
    """Let a call wait until a person agrees to it, saying why."""

    type: ClassVar[str] = "hold"
    message: Template


RuleAction = Notify | Log | SetState | EmitEvent | StopRun | Withhold | AskAgain | Hold


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rule:
    """What somebody wrote. `events` are names, or patterns like `tool.call.*`.

    Two are the same if they are one object: so what is found out about rules can be kept by them.
    """

    id: str
    name: str
    description: str = ""
    trigger: str = ""
    """The hook it was written for, if it was."""
    events: tuple[str, ...]
    priority: int = 100
    once: bool = False
    mode: RuleMode = "on"
    condition: Condition | None = None
    actions: tuple[RuleAction, ...]
    level: RuleLevel = "shipped"
    """Who wrote it, and for whom: its text does not say."""
    reads_content: bool = False
    """Whether it looks at what erasure takes: texts, arguments, sizes, sources."""
    reads_notes: bool = False
    """Whether it looks at how many notes the project has."""
    parts: frozenset[str] = EVENT_PARTS
    """What its condition looks at of that which every event changes."""

    @property
    def key(self) -> str:
        """Tell it from rules of other levels with the same id."""
        return f"{self.level}:{self.id}"

    @property
    def is_binding(self) -> bool:
        """Whether those whose runs it holds for cannot switch it off."""
        return self.level in ("site", "project")

    @property
    def fires_once(self) -> bool:
        """Whether it fires at most once a run: it says so, or ends the run when it does."""
        return self.once or StopRun in map(type, self.actions)

    @property
    def holds_calls(self) -> bool:
        """Whether it lets calls wait for a person: no other rule's doing may keep it from that."""
        return self.mode == "on" and Hold in map(type, self.actions)

    @property
    def asks_again(self) -> bool:
        return self.mode == "on" and AskAgain in map(type, self.actions)


def choose_rules(rules: Iterable[Rule], most: int) -> list[Rule]:
    """Return the rules in force, in their order. Of too many, those that bind the most people."""
    active = sorted([rule for rule in rules if rule.mode != "off"], key=_rank)
    if len(active) <= most:
        return active
    active.sort(key=lambda rule: _BINDING.index(rule.level))
    return sorted(active[:most], key=_rank)


def _rank(rule: Rule) -> tuple[int, int, str]:
    return -rule.priority, LEVELS.index(rule.level), rule.id


def encode_value(value: Any) -> str:
    """Return a value as JSON, or raise ValueError for one that cannot be remembered or told."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise ValueError("such a value cannot be remembered") from None
    if len(text) > MAX_VALUE_LENGTH:
        raise ValueError(f"a value of more than {MAX_VALUE_LENGTH:,} characters cannot be kept")
    return text
