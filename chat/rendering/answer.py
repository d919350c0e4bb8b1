"""An answer as people see it: chunks in, parts out. No HTML is made here but that of Markdown.

A part is what a page shows as one thing: text, thinking, tool calls, a notice. `AnswerView`
remembers what has changed since it was last asked, so that a page is sent only that; the same
parts, rendered whole, are what a reload shows.
"""

from typing import Literal, assert_never
from uuid import UUID

from agents.core.answer_sources import AnswerSources
from agents.core.chunks import (
    Approval,
    Content,
    ContextUpdate,
    Decision,
    Done,
    Error,
    EventRecord,
    Hint,
    KeptResult,
    OracleStreamChunk,
    Source,
    Status,
    SystemMessage,
    Thinking,
    ToolCalled,
    ToolResult,
    Turn,
)
from agents.web.tool_titles import get_title
from chat.markdown import LinkResolver, MarkdownStream, RenderBudget
from chat.rendering.limit_notices import is_wrap_up_notice, replaces
from chat.rendering.parts import (
    AnswerPart,
    NoticePart,
    TextPart,
    ToolCard,
    ToolsPart,
    UsageTotals,
    describe_ending,
    element_id,
)
from chat.rendering.sent_parts import SentParts

MAX_TEXT_PARTS = 500
"""After so many, text and thinking that take turns are no longer told apart: no model that means it
does that, and each part costs more than its words."""


class AnswerView(SentParts):
    """One run on a page: `apply` chunks, read `new_parts` and `changed_parts`, `mark_sent`."""

    def __init__(self, run_id: UUID, link: LinkResolver | None = None) -> None:
        super().__init__()
        self.run_id = run_id
        self.id = element_id(run_id)
        self.sources = AnswerSources()
        self.usage = UsageTotals()
        self.done: Done | None = None
        self.closing: NoticePart | None = None
        """Stays below everything else: that of a wrap-up, until that of its limit replaces it."""
        self.offers_at_end = False
        """Whether no notice says how to go on after an early end."""
        self.last_seq = 0
        self.activity = ""
        """For those who listen rather than look: what is going on."""
        self._link = link
        self._budget = RenderBudget()
        self._text_count = 0
        self._finish_reason = "stop"
        self._interim = ""
        """What the text of the present turn is called, if it is not the answer."""

    @property
    def cost(self) -> int:
        """What rendering its text has cost."""
        return self._budget.spent

    # -- chunks -----------------------------------------------------------------------------------

    def apply(self, chunk: OracleStreamChunk) -> None:
        self.last_seq = chunk.seq
        if self.sources.apply(chunk):
            self.sources_changed = True
        if chunk.parent:
            self._apply_subagent_chunk(chunk)
            return
        match chunk:
            case Content(content=text):
                self._write_text("interim" if self._interim else "text", text, chunk.at)
            case Thinking(content=text):
                self._write_text("thinking", text, chunk.at)
            case ToolCalled():
                self._apply_call(chunk)
            case ToolResult():
                self._apply_result(chunk)
            case SystemMessage():
                self._apply_notice(chunk)
            case Error():
                self._apply_error(chunk)
            case Turn():
                self._apply_turn(chunk)
            case ContextUpdate(context_tokens=context, max_context_tokens=window):
                self.usage.context, self.usage.window = context, window
                self.usage_changed = True
            case Done():
                self._apply_done(chunk)
            case Source() | Decision() | Hint() | EventRecord() | KeptResult() | Status():
                pass  # collected above, for the audit, for the sweep, or computed
            case Approval():
                pass
            case _:
                assert_never(chunk)

    def _apply_subagent_chunk(self, chunk: OracleStreamChunk) -> None:
        """Show what a subagent does inside the call that started it, without its text."""
        outer = self._cards.get(("", chunk.parent))
        if outer is None:
            return
        part, card = outer
        card.has_subagent = True
        if card.is_discarded:
            return
        match chunk:
            case ToolCalled(tool_call=call):
                known = self._cards.get((chunk.parent, call.id))
                if known is None:
                    card.subagent_cards.append(self._add_card(part, chunk))
                else:
                    known[1].update(call, chunk.at)
            case ToolResult():
                self._apply_result(chunk)
            case Turn(phase="end"):
                card.subagent_tokens += chunk.prompt_tokens + chunk.completion_tokens
            case _:
                return
        self._mark_changed(card)

    def _drop_subagent_cards(self, card: ToolCard) -> None:
        """Leave nothing but the fact of a subagent that did not finish."""
        card.is_discarded = True
        for inner in card.subagent_cards:
            self._changed.pop(inner.id, None)
        card.subagent_cards = []

    def _write_text(
        self, kind: Literal["text", "thinking", "interim"], text: str, at: float
    ) -> None:
        part = self.parts[-1] if self.parts else None
        if (
            not isinstance(part, TextPart)
            or part.ended is not None
            or self._switches_to(kind, part)
        ):
            stream = MarkdownStream(self._link, self._budget)
            label = self._interim if kind == "interim" else ""
            part = TextPart(self._next_id(), kind, at, stream, label)
            self._text_count += 1
            self._add(part, at)
        part.write(text)
        self._mark_changed(part)
        named = {"text": "Generating", "thinking": "Thinking"}
        self.activity = named.get(kind) or f"Writing: {part.label}"

    def _switches_to(self, kind: str, part: TextPart) -> bool:
        if part.kind == kind:
            return False
        return "interim" in (kind, part.kind) or self._text_count < MAX_TEXT_PARTS

    def _apply_call(self, chunk: ToolCalled) -> None:
        call = chunk.tool_call
        if (known := self._cards.get(("", call.id))) is not None:
            known[1].update(call, chunk.at)
            self._mark_card_changed(*known)
        else:
            part = self.parts[-1] if self.parts else None
            if not isinstance(part, ToolsPart) or part.ended is not None:
                part = ToolsPart(self._next_id())
                self._add(part, chunk.at)
            card = self._add_card(part, chunk)
            card.group = part.id
            part.cards.append(card)
            self._mark_changed(card)
        self.activity = f"Using a tool: {get_title(call.name)}"

    def _add_card(self, part: ToolsPart, chunk: ToolCalled) -> ToolCard:
        number = len(self._cards)
        card = ToolCard.from_call(f"{self.id}-c{number}", number, chunk)
        self._cards[chunk.parent, chunk.tool_call.id] = (part, card)
        return card

    def _apply_result(self, result: ToolResult) -> None:
        if (known := self._cards.get((result.parent, result.tool_call_id))) is None:
            return
        part, card = known
        card.end(result)
        if card.has_subagent and not result.has_finished:
            self._drop_subagent_cards(card)
        self._mark_card_changed(part, card)

    def _mark_card_changed(self, part: ToolsPart, card: ToolCard) -> None:
        """A group that is folded says in its first line how many calls it has, and how long."""
        self._mark_changed(part if part.is_folded else card)

    def _apply_notice(self, chunk: SystemMessage) -> None:
        part = NoticePart.from_message(f"{self.id}-limit", chunk)
        if is_wrap_up_notice(part) or (self.closing and replaces(part, self.closing)):
            self._close_last_part(chunk.at)
            self.closing, self.closing_changed = part, True
        elif part.tells_failures and (row := self._find_failure_row()) is not None:
            self._join_failures(row, part, chunk.at)
        elif (first := self._find_quiet_notice()) is not None and part.is_quiet:
            first.others.append(part)
            self._mark_changed(first)
        else:
            self._add_notice(part, chunk.at)

    def _find_quiet_notice(self) -> NoticePart | None:
        notices = (p for p in self.parts if isinstance(p, NoticePart) and not p.is_moved)
        return next((notice for notice in notices if notice.is_quiet), None)

    def _find_failure_row(self) -> NoticePart | None:
        notices = (p for p in reversed(self.parts) if isinstance(p, NoticePart) and not p.is_moved)
        return next((notice for notice in notices if notice.tells_failures), None)

    def _join_failures(self, row: NoticePart, part: NoticePart, at: float) -> None:
        """Let failing calls share a row: the notice that they end the run takes the others in."""
        if part.leads:
            part.others = [row, *row.others]
            row.others, row.is_moved = [], True
            self._add_notice(part, at)
        else:
            row.others.append(part)
        self._mark_changed(row)

    def _apply_error(self, chunk: Error) -> None:
        """Show an error unless a notice has just said the same. A last answer that has failed is
        announced no more."""
        if self.closing is not None and chunk.code == "provider_error":
            self.closing, self.closing_changed = None, True
        last = self.parts[-1] if self.parts else None
        if not (isinstance(last, NoticePart) and last.message == chunk.error):
            self._add_notice(NoticePart("", "error", "error", chunk.error, {}), chunk.at)

    def _add_notice(self, part: NoticePart, at: float) -> None:
        """Add as the last part; what ends the run other than by its limit is below the wrap-up."""
        if self.closing is not None and part.is_abnormal_end:
            self._append_notice(self.closing, at)
            self.closing, self.closing_changed = None, True
        self._append_notice(part, at)

    def _append_notice(self, part: NoticePart, at: float) -> None:
        part.id = self._next_id()
        self._add(part, at)

    def _apply_turn(self, turn: Turn) -> None:
        if turn.phase == "start":
            self._start_turn(turn)
        else:
            self._finish_reason = turn.finish_reason or "stop"
            self.usage.turns += turn.answered
            self.usage.tokens += turn.prompt_tokens + turn.completion_tokens + turn.subagent_tokens
            self.usage_changed = True

    def _start_turn(self, turn: Turn) -> None:
        """Keep the texts of turns apart that are not the answer."""
        if self._interim or turn.interim:
            last = self.parts[-1] if self.parts else None
            if isinstance(last, TextPart):
                self._close_last_part(turn.at)
        self._interim = turn.interim

    def _apply_done(self, done: Done) -> None:
        self._close_last_part(done.at)
        self.done, self.just_ended, self.usage_changed = done, True, True
        self.usage.turns, self.usage.tokens = done.turns_used, done.tokens_used
        self.activity = describe_ending(done.outcome, self.parts, self._finish_reason)
        if done.outcome not in ("completed", "paused"):  # that one has a card
            self._mark_offers()

    def _mark_offers(self) -> None:
        """Say what can be done, in the notice that tells of the end. A text may follow it."""
        notices = [p for p in (*self.parts, self.closing) if isinstance(p, NoticePart)]
        endings = [notice for notice in notices if notice.is_final]
        if endings:
            endings[-1].offers = True
            if endings[-1] is self.closing:
                self.closing_changed = True
            else:
                self._mark_changed(endings[-1])
        self.offers_at_end = not endings

    # -- parts ------------------------------------------------------------------------------------

    def _next_id(self) -> str:
        return f"{self.id}-p{len(self.parts)}"

    def _add(self, part: AnswerPart, at: float) -> None:
        self._close_last_part(at)
        self.parts.append(part)

    def _close_last_part(self, at: float) -> None:
        """Close the last part: it goes on no more."""
        last = self.parts[-1] if self.parts else None
        if isinstance(last, TextPart | ToolsPart) and last.ended is None:
            last.end(at)
            if isinstance(last, TextPart) or last.is_folded:
                self._mark_changed(last)
