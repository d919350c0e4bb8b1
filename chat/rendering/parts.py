"""Parts of an answer on a page: text, thinking, a step before the answer, a group of
tool calls, a notice."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import UUID

from django.template import Template

from agents.core.chunks import CallView, SystemMessage, ToolCalled, ToolResult
from agents.core.notify.shipped import SHIPPED
from agents.tools.librarian import DELEGATE_TOOL
from agents.tools.registry import tool_writes
from agents.web.notice_levels import NoticeLevel, notice_level
from agents.web.tool_titles import get_title, mark_quotes
from chat.markdown import MarkdownStream
from chat.rendering.card_templates import get_card_template, has_own_card
from chat.rendering.tool_words import summarize_arguments

_NON_FINAL_NOTICES = frozenset(
    {"limit_warning", "loop_warning", "tool_limit", "context_warning", "notification"}
)
"""Notices of a run that goes on."""
_CORE_SUBSCRIBERS = frozenset(one.id for one in SHIPPED if one.core)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_OWN_WORDS = re.compile(r"(?:`[^`]*`|[^`\n])*?(?:[.:!?](?=\s)|(?=\n))")
"""The beginning of a notification, up to a stop or its first line's end, outside of quotes."""
_FAILURE_EVENTS = frozenset({"tool.call.failure", "tool.call.timeout"})
_ENDINGS = {
    "cancelled": "Stopped",
    "failed": "The run failed",
    "paused": "Waiting for you",
}
FOLD_ABOVE = 3
"""More calls than these, all finished, are folded into one line."""


@dataclass(eq=False)
class TextPart:
    """Text of the model: `closed` blocks are final, the tail is not."""

    id: str
    kind: Literal["text", "thinking", "interim"]
    began: float
    stream: MarkdownStream
    label: str = ""
    """What it is called, if it is not the answer but a step before it: a plan, a draft."""
    closed: list[str] = field(default_factory=list)
    sent_blocks: int = 0
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
        self.closed += self.stream.flush()
        self.ended = at
        self._tail = ""

    @property
    def tail(self) -> str:
        """The open block. Asked for once after each change: what is sent is what is remembered."""
        if self._tail is None:
            self._tail = self.stream.render_open_block()
        return self._tail

    @property
    def blocks(self) -> Iterator[tuple[int, str]]:
        return enumerate(self.closed)

    @property
    def seconds(self) -> int:
        return round((self.ended or self.began) - self.began)


@dataclass(eq=False)
class ToolCard:
    """One tool call, on one line; what it got and gave is fetched when somebody opens it."""

    id: str
    number: int
    """Of all calls of the run, in the order they were made; call ids are the model's own."""
    call_id: str
    name: str
    argument: str
    status: Literal["queued", "running", "held", "done", "failed", "refused", "unknown"]
    began: float
    seconds: float = 0.0
    parent: str = ""
    """The call that started the subagent which made this one."""
    group: str = ""
    """The part that it is in, if it is not a subagent's."""
    subagent_cards: list["ToolCard"] = field(default_factory=list)
    """Calls of the subagent that it started."""
    has_subagent: bool = False
    is_discarded: bool = False
    """Whether that subagent did not finish: nothing of what it did is kept."""
    subagent_tokens: int = 0
    is_summarised: bool = False
    """Whether a librarian gave its summary to the model in place of the result."""
    is_sent: bool = False
    arguments: Mapping[str, Any] | str = ""
    """Kept, as is the result, only for a tool that brings a card of its own."""
    result: str = ""

    @property
    def template(self) -> Template:
        return get_card_template(self.name)

    @property
    def title(self) -> str:
        return get_title(self.name)

    @property
    def is_from_cache(self) -> bool:
        """Whether a librarian's report was there already: none has worked for it."""
        reported = self.is_summarised or (self.name == DELEGATE_TOOL and self.status == "done")
        return reported and not self.has_subagent

    @property
    def writes(self) -> bool:
        """Whether it may have changed something."""
        return tool_writes(self.name) and self.status in ("done", "unknown")

    @classmethod
    def from_call(cls, element_id: str, number: int, chunk: ToolCalled) -> "ToolCard":
        call = chunk.tool_call
        gist = summarize_arguments(call.name, call.arguments)
        card = cls(element_id, number, call.id, call.name, gist, "queued", chunk.at)
        card.parent = chunk.parent
        if has_own_card(call.name):
            card.arguments = call.arguments
        card.update(call, chunk.at)
        return card

    def update(self, call: CallView, at: float) -> None:
        self.status = "queued" if call.status == "pending" else call.status
        self.began = at

    def end(self, result: ToolResult) -> None:
        if self.status != "refused":
            bad: Literal["unknown", "failed"] = "unknown" if result.is_unknown else "failed"
            self.status = "done" if result.ok else bad
        self.seconds = result.duration_ms / 1000
        self.is_summarised = bool(result.given)
        if has_own_card(self.name):
            self.result = result.tool_result


@dataclass(eq=False)
class ToolsPart:
    """Calls that follow one another with no text between them."""

    id: str
    cards: list[ToolCard] = field(default_factory=list)
    ended: float | None = None
    template = "tools"

    def end(self, at: float) -> None:
        self.ended = at

    @property
    def is_folded(self) -> bool:
        """Never while a call is under way, so that it can be watched."""
        finished = all(card.status not in ("queued", "running") for card in self.cards)
        return self.ended is not None and finished and len(self.cards) > FOLD_ABOVE

    @property
    def seconds(self) -> float:
        return sum(card.seconds for card in self.cards)


@dataclass(eq=False)
class NoticePart:
    """A system message. The last one of a run that ended early offers what to do; of those that
    can be switched off, the first one of a run has the others folded into it."""

    id: str
    system_type: str
    severity: str
    message: str
    metadata: Mapping[str, Any]
    offers: bool = False
    others: list["NoticePart"] = field(default_factory=list)
    is_moved: bool = False
    """Whether another notice has taken it in: nothing is left in its place."""
    template = "notice"

    @classmethod
    def from_message(cls, element_id: str, chunk: SystemMessage) -> "NoticePart":
        message = chunk.system_message
        return cls(element_id, chunk.system_type, chunk.severity, message, chunk.metadata)

    def end(self, at: float) -> None:
        """Do nothing: a notice is whole from the beginning."""

    @property
    def headline(self) -> str:
        """What happened: the first sentence, of a notification what comes before the details."""
        return self._mark_quotes(self._first)

    @property
    def rest(self) -> str:
        """What it means."""
        return self._mark_quotes(self.message[len(self._first) :].strip())

    @property
    def _first(self) -> str:
        if self.system_type != "notification":
            return _SENTENCE.split(self.message, maxsplit=1)[0]
        own = _OWN_WORDS.match(self.message)
        return own[0] if own else self.message

    def _mark_quotes(self, text: str) -> str:
        """Mark what a notification quotes. Others quote nothing: their words are ours."""
        return mark_quotes(text) if self.system_type == "notification" else text

    @property
    def is_quiet(self) -> bool:
        """Whether a subscriber says it that people can switch off."""
        subscriber = self.metadata.get("subscriber")
        return subscriber is not None and subscriber not in _CORE_SUBSCRIBERS

    @property
    def tells_failures(self) -> bool:
        """Whether it tells of failing calls: they share one row, in which the end leads."""
        named = {*self.metadata.get("events", ()), *self.metadata.get("triggers", ())}
        return self.leads or bool(named & _FAILURE_EVENTS)

    @property
    def leads(self) -> bool:
        """Whether it stays in sight above what is folded into it."""
        return self.system_type == "error_limit"

    @property
    def folded(self) -> list["NoticePart"]:
        """All that is folded in its row, if there is anything."""
        if not self.others or self.leads:
            return self.others
        return [self, *self.others]

    @property
    def is_final(self) -> bool:
        return self.system_type not in _NON_FINAL_NOTICES

    @property
    def is_abnormal_end(self) -> bool:
        """Whether it tells of an end that no limit brought."""
        return self.system_type in ("cancelled", "interrupted", "error")

    @property
    def level(self) -> NoticeLevel:
        return notice_level(self.system_type, self.severity)


AnswerPart = TextPart | ToolsPart | NoticePart


@dataclass(slots=True)
class UsageTotals:
    """For the meters: what a run has used so far."""

    turns: int = 0
    tokens: int = 0
    context: int = 0
    window: int = 0


def describe_ending(outcome: str, parts: Iterable[AnswerPart], finish_reason: str) -> str:
    """Say how a run ended, for those who listen."""
    if outcome in _ENDINGS:
        return _ENDINGS[outcome]
    if not any(isinstance(part, TextPart) and part.kind == "text" for part in parts):
        return "Ended without an answer"
    return "Answer complete" if finish_reason == "stop" else "Answer cut off"


def element_id(run_id: UUID) -> str:
    """Return the id of the answer on a page. Short, because every frame says it."""
    return f"r{run_id.hex[:12]}"
