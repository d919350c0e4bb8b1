"""What a page shows of an answer as one thing: text, thinking, a group of tool calls, a notice."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from chat.markdown import Stream

_MEANWHILE = frozenset(
    {"limit_warning", "loop_warning", "tool_limit", "context_warning", "notification"}
)
"""Notices of a run that goes on."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
FOLDED = 3
"""More calls than these, all finished, are folded into one line."""


@dataclass(eq=False)
class TextPart:
    """Text of the model: `closed` blocks are final, the tail is not."""

    id: str
    kind: Literal["text", "thinking"]
    began: float
    stream: Stream
    closed: list[str] = field(default_factory=list)
    sent: int = 0
    """How many of the closed blocks a page has."""
    sent_tail: str = ""
    """The tail as a page has it."""
    ended: float | None = None

    @property
    def template(self) -> str:
        return self.kind

    _tail: str | None = None

    def write(self, text: str) -> None:
        self.closed += self.stream.feed(text)
        self._tail = None

    def end(self, at: float) -> None:
        self.closed += self.stream.finish()
        self.ended = at
        self._tail = ""

    @property
    def tail(self) -> str:
        """The open block. Asked for once after each change: what is sent is what is remembered."""
        if self._tail is None:
            self._tail = self.stream.tail()
        return self._tail

    @property
    def blocks(self) -> Iterator[tuple[int, str]]:
        return enumerate(self.closed)

    @property
    def seconds(self) -> int:
        return round((self.ended or self.began) - self.began)


@dataclass(eq=False)
class Card:
    """One tool call, on one line; what it got and gave is fetched when somebody opens it."""

    id: str
    number: int
    """Of all calls of the run, in the order they were made; call ids are the model's own."""
    call_id: str
    name: str
    argument: str
    status: Literal["queued", "running", "done", "failed", "refused", "unknown"]
    began: float
    seconds: float = 0.0
    parent: str = ""
    """The call that started the subagent which made this one."""
    group: str = ""
    """The part that it is in, if it is not a subagent's."""
    inner: list["Card"] = field(default_factory=list)
    """Calls of the subagent that it started."""
    shown: bool = False


@dataclass(eq=False)
class ToolsPart:
    """Calls that follow one another with no text between them."""

    id: str
    cards: list[Card] = field(default_factory=list)
    ended: float | None = None
    template = "tools"

    def end(self, at: float) -> None:
        self.ended = at

    @property
    def folded(self) -> bool:
        """Never while a call is under way, so that it can be watched."""
        finished = all(card.status not in ("queued", "running") for card in self.cards)
        return self.ended is not None and finished and len(self.cards) > FOLDED

    @property
    def seconds(self) -> float:
        return sum(card.seconds for card in self.cards)


@dataclass(eq=False)
class NoticePart:
    """A system message. The last one of a run that ended early offers what to do."""

    id: str
    system_type: str
    severity: str
    message: str
    metadata: Mapping[str, Any]
    offers: bool = False
    template = "notice"

    def end(self, at: float) -> None:
        """Nothing: a notice is whole from the beginning."""

    @property
    def headline(self) -> str:
        """What happened: the first sentence."""
        return _SENTENCE.split(self.message, maxsplit=1)[0]

    @property
    def rest(self) -> str:
        """What it means."""
        return self.message[len(self.headline) :].strip()

    @property
    def tells_of_the_end(self) -> bool:
        return self.system_type not in _MEANWHILE

    @property
    def tone(self) -> str:
        """Amber is for limits and policy, red for errors, grey for what is neither."""
        if self.system_type in ("cancelled", "notification") or self.severity == "info":
            return "neutral"
        return "error" if self.severity == "error" else "limit"


Part = TextPart | ToolsPart | NoticePart


@dataclass(slots=True)
class Usage:
    """For the meters: what a run has used so far."""

    turns: int = 0
    tokens: int = 0
    context: int = 0
    window: int = 0
