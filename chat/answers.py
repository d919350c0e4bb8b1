"""An answer as people see it: chunks in, parts out. No HTML is made here but that of Markdown.

A part is what a page shows as one thing: text, thinking, a group of tool calls, a notice. `Answer`
remembers what has changed since it was last asked, so that a page is sent only that; the same
parts, rendered whole, are what a reload shows.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, assert_never
from uuid import UUID

from agents.core.chunks import (
    CallView,
    Chunk,
    Content,
    ContextUpdate,
    Decision,
    Done,
    Error,
    Hint,
    Source,
    SourceRef,
    Status,
    System,
    Thinking,
    ToolCalled,
    ToolResult,
    Turn,
)
from chat.markdown import Link, Stream

ARGUMENT_CHARS = 80
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
    ended: float | None = None

    @property
    def template(self) -> str:
        return self.kind

    def write(self, text: str) -> None:
        self.closed += self.stream.feed(text)

    def end(self, at: float) -> None:
        self.closed += self.stream.finish()
        self.ended = at

    @property
    def tail(self) -> str:
        return "" if self.ended is not None else self.stream.tail()

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
    status: Literal["queued", "running", "done", "failed", "refused"]
    began: float
    seconds: float = 0.0
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
        return self.ended is not None and len(self.cards) > FOLDED

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
    def tone(self) -> str:
        """Amber is for limits and policy, red for errors, grey for what is neither."""
        if self.system_type in ("cancelled", "notification"):
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


class Answer:
    """One run on one page. `take` chunks; look at `fresh` and `changed`; then `settle`."""

    def __init__(self, run_id: UUID, link: Link | None = None) -> None:
        self.run_id = run_id
        self.id = f"r{run_id.hex}"
        self.parts: list[Part] = []
        self.sources: dict[tuple[str, int | None], SourceRef] = {}
        self.usage = Usage()
        self.done: Done | None = None
        self.upto = 0
        self.doing = ""
        """For those who listen rather than look: what is going on."""
        self._link = link
        self._cards: dict[str, tuple[ToolsPart, Card]] = {}
        self._shown = 0
        self._changed: dict[str, Part | Card] = {}
        self.sources_changed = self.usage_changed = self.just_ended = False

    # -- what a page has to be told ---------------------------------------------------------------

    @property
    def fresh(self) -> list[Part]:
        """Parts that a page does not have yet."""
        return self.parts[self._shown :]

    @property
    def changed(self) -> list[Part | Card]:
        """What a page has, and has to be told about again."""
        fresh = set(map(id, self.fresh))
        return [thing for thing in self._changed.values() if id(self._part_of(thing)) not in fresh]

    def _part_of(self, thing: Part | Card) -> Part:
        return self._cards[thing.call_id][0] if isinstance(thing, Card) else thing

    @property
    def has_text(self) -> bool:
        return any(isinstance(part, TextPart) and part.kind == "text" for part in self.parts)

    def settle(self) -> None:
        """The page has everything."""
        self._shown = len(self.parts)
        self._changed.clear()
        self.sources_changed = self.usage_changed = self.just_ended = False
        for part in self.parts:
            if isinstance(part, TextPart):
                part.sent = len(part.closed)
        for _, card in self._cards.values():
            card.shown = True

    # -- chunks -----------------------------------------------------------------------------------

    def take(self, chunk: Chunk) -> None:
        self.upto = chunk.seq
        if chunk.parent:
            self._take_inner(chunk)
            return
        match chunk:
            case Content(content=text):
                self._write("text", text, chunk.at)
            case Thinking(content=text):
                self._write("thinking", text, chunk.at)
            case ToolCalled(tool_call=call):
                self._call(call, chunk.at)
            case ToolResult():
                self._result(chunk)
            case Source(source=source):
                self._source(source)
            case System():
                self._notice(chunk)
            case Error():
                self._error(chunk)
            case Turn():
                self._turn(chunk)
            case ContextUpdate(context_tokens=context, max_context_tokens=window):
                self.usage.context, self.usage.window = context, window
                self.usage_changed = True
            case Done():
                self._end(chunk)
            case Decision() | Hint() | Status():
                pass  # for the audit, or computed
            case _:
                assert_never(chunk)

    def _take_inner(self, chunk: Chunk) -> None:
        """What a subagent does is shown inside the call that started it; its text is not."""
        outer = self._cards.get(chunk.parent)
        if outer is None:
            return
        part, card = outer
        match chunk:
            case ToolCalled(tool_call=call):
                known = self._cards.get(call.id)
                if known is None:
                    inner = self._card(part, call, chunk.at)
                    card.inner.append(inner)
                else:
                    _update(known[1], call, chunk.at)
            case ToolResult():
                self._result(chunk)
            case _:
                return
        self._change(card)

    def _write(self, kind: Literal["text", "thinking"], text: str, at: float) -> None:
        last = self.parts[-1] if self.parts else None
        if not (isinstance(last, TextPart) and last.kind == kind and last.ended is None):
            last = TextPart(self._next_id(), kind, at, Stream(self._link))
            self._add(last, at)
        last.write(text)
        self._change(last)
        self.doing = "Generating" if kind == "text" else "Thinking"

    def _call(self, call: CallView, at: float) -> None:
        if (known := self._cards.get(call.id)) is not None:
            _update(known[1], call, at)
            self._change(known[1])
        else:
            part = self.parts[-1] if self.parts else None
            if not isinstance(part, ToolsPart):
                part = ToolsPart(self._next_id())
                self._add(part, at)
            card = self._card(part, call, at)
            card.group = part.id
            part.cards.append(card)
            self._change(card)
        self.doing = f"Using {call.name}"

    def _card(self, part: ToolsPart, call: CallView, at: float) -> Card:
        number = len(self._cards)
        gist = _short(call.arguments)
        card = Card(f"{self.id}-c{number}", number, call.id, call.name, gist, "queued", at)
        _update(card, call, at)
        self._cards[call.id] = (part, card)
        return card

    def _result(self, result: ToolResult) -> None:
        if (known := self._cards.get(result.tool_call_id)) is None:
            return
        card = known[1]
        if card.status != "refused":
            card.status = "done" if result.ok else "failed"
        card.seconds = result.duration_ms / 1000
        self._change(card)

    def _source(self, source: SourceRef) -> None:
        self.sources.setdefault((source.path, source.line), source)
        self.sources_changed = True

    def _notice(self, chunk: System) -> None:
        self._add(
            NoticePart(
                self._next_id(),
                chunk.system_type,
                chunk.severity,
                chunk.system_message,
                chunk.metadata,
            ),
            chunk.at,
        )

    def _error(self, chunk: Error) -> None:
        """Shown unless a notice has just said the same."""
        last = self.parts[-1] if self.parts else None
        if isinstance(last, NoticePart) and last.message == chunk.error:
            return
        self._add(NoticePart(self._next_id(), "error", "error", chunk.error, {}), chunk.at)

    def _turn(self, turn: Turn) -> None:
        if turn.phase == "end":
            self.usage.turns += turn.answered
            self.usage.tokens += turn.prompt_tokens + turn.completion_tokens + turn.subagent_tokens
            self.usage_changed = True

    def _end(self, done: Done) -> None:
        self._close(done.at)
        self.done, self.just_ended, self.usage_changed = done, True, True
        self.usage.turns, self.usage.tokens = done.turns_used, done.tokens_used
        self.doing = "Answer complete" if done.outcome in ("completed", "limited") else "Stopped"
        last = self.parts[-1] if self.parts else None
        if isinstance(last, NoticePart) and done.outcome != "completed":
            last.offers = True
            self._change(last)

    # -- parts ------------------------------------------------------------------------------------

    def _next_id(self) -> str:
        return f"{self.id}-p{len(self.parts)}"

    def _add(self, part: Part, at: float) -> None:
        self._close(at)
        self.parts.append(part)

    def _close(self, at: float) -> None:
        """The last part goes on no more."""
        last = self.parts[-1] if self.parts else None
        if isinstance(last, TextPart | ToolsPart) and last.ended is None:
            last.end(at)
            if isinstance(last, TextPart) or last.folded:
                self._change(last)

    def _change(self, thing: Part | Card) -> None:
        self._changed[thing.id] = thing


def _update(card: Card, call: CallView, at: float) -> None:
    card.status = {"pending": "queued", "running": "running", "refused": "refused"}[call.status]  # type: ignore[assignment]
    card.began = at


def _short(arguments: Mapping[str, Any] | str) -> str:
    """The gist of a call's arguments: the one value, or all of them as JSON."""
    if isinstance(arguments, str):
        text = arguments
    elif len(arguments) == 1 and isinstance(only := next(iter(arguments.values())), str):
        text = only
    else:
        text = ", ".join(f"{name}: {_value(value)}" for name, value in arguments.items())
    text = " ".join(text.split())
    return text if len(text) <= ARGUMENT_CHARS else text[: ARGUMENT_CHARS - 1] + "…"


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
