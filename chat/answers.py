"""An answer as people see it: chunks in, parts out. No HTML is made here but that of Markdown.

A part is what a page shows as one thing: text, thinking, a group of tool calls, a notice. `Answer`
remembers what has changed since it was last asked, so that a page is sent only that; the same
parts, rendered whole, are what a reload shows.
"""

import json
from collections.abc import Mapping
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
from chat.parts import Card, NoticePart, Part, TextPart, ToolsPart, Usage

ARGUMENT_CHARS = 80
_ENDINGS = {"cancelled": "Stopped", "failed": "The run failed"}


class Answer:
    """One run on one page. `take` chunks; look at `fresh` and `changed`; then `settle`."""

    def __init__(self, run_id: UUID, link: Link | None = None) -> None:
        self.run_id = run_id
        self.id = element_id(run_id)
        self.parts: list[Part] = []
        self.sources: dict[tuple[str, int | None], SourceRef] = {}
        self.usage = Usage()
        self.done: Done | None = None
        self.offers_at_end = False
        """Whether no notice says how to go on after an early end."""
        self.upto = 0
        self.doing = ""
        """For those who listen rather than look: what is going on."""
        self._link = link
        self._cards: dict[tuple[str, str], tuple[ToolsPart, Card]] = {}
        """By the call that started the subagent, if one made it, and the call's own id."""
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
        return self._cards[thing.parent, thing.call_id][0] if isinstance(thing, Card) else thing

    @property
    def has_words(self) -> bool:
        """Whether anything that the model wrote is shown, thinking or answer."""
        return any(isinstance(part, TextPart) for part in self.parts)

    @property
    def has_more_news(self) -> bool:
        """Whether something besides the parts has changed."""
        return self.sources_changed or self.usage_changed or self.just_ended

    def settle(self) -> None:
        """The page has everything."""
        self._shown = len(self.parts)
        self._changed.clear()
        self.sources_changed = self.usage_changed = self.just_ended = False
        for part in self.parts:
            if isinstance(part, TextPart):
                part.sent, part.sent_tail = len(part.closed), part.tail
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
            case ToolCalled():
                self._call(chunk)
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
        outer = self._cards.get(("", chunk.parent))
        if outer is None:
            return
        part, card = outer
        match chunk:
            case ToolCalled(tool_call=call):
                known = self._cards.get((chunk.parent, call.id))
                if known is None:
                    card.inner.append(self._card(part, chunk))
                else:
                    _update(known[1], call, chunk.at)
            case ToolResult():
                self._result(chunk)
            case Source(source=source):
                self._source(source)
                return
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

    def _call(self, chunk: ToolCalled) -> None:
        call = chunk.tool_call
        if (known := self._cards.get(("", call.id))) is not None:
            _update(known[1], call, chunk.at)
            self._change(known[1])
        else:
            part = self.parts[-1] if self.parts else None
            if not isinstance(part, ToolsPart):
                part = ToolsPart(self._next_id())
                self._add(part, chunk.at)
            card = self._card(part, chunk)
            card.group = part.id
            part.cards.append(card)
            self._change(card)
        self.doing = f"Using {call.name}"

    def _card(self, part: ToolsPart, chunk: ToolCalled) -> Card:
        call, number, gist = chunk.tool_call, len(self._cards), _short(chunk.tool_call.arguments)
        card = Card(f"{self.id}-c{number}", number, call.id, call.name, gist, "queued", chunk.at)
        card.parent = chunk.parent
        _update(card, call, chunk.at)
        self._cards[chunk.parent, call.id] = (part, card)
        return card

    def _result(self, result: ToolResult) -> None:
        if (known := self._cards.get((result.parent, result.tool_call_id))) is None:
            return
        part, card = known
        if card.status != "refused":
            bad: Literal["unknown", "failed"] = "unknown" if result.is_unknown else "failed"
            card.status = "done" if result.ok else bad
        card.seconds = result.duration_ms / 1000
        # A group that is folded says in its first line how many calls it has, and how long.
        self._change(part if part.folded else card)

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
        self.doing = _ENDINGS.get(done.outcome, "Answer complete")
        if done.outcome != "completed":
            self._offer()

    def _offer(self) -> None:
        """Say what can be done, in the notice that tells of the end. A text may follow it."""
        endings = [p for p in self.parts if isinstance(p, NoticePart) and p.tells_of_the_end]
        if endings:
            endings[-1].offers = True
            self._change(endings[-1])
        self.offers_at_end = not endings

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


def element_id(run_id: UUID) -> str:
    """Of the answer on a page. Short, because every frame says it."""
    return f"r{run_id.hex[:12]}"


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
