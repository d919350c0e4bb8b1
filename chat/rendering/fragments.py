"""Parts of an answer as HTML, and what a page that has the rest must be sent.

The only way from chunks to HTML: `AnswerView` sorts chunks into parts, each with one template here.
Every element has an id made here, so a frame that is sent twice changes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from django.template import Context, Engine, Template
from django.utils.safestring import SafeString, mark_safe

from agents.core.reasons import get_reason
from agents.models import AgentRun
from agents.web.limit_levels import AMBER_PERCENT, RED_PERCENT, limit_css_class
from chat import markdown
from chat.conversations.tree import Position
from chat.models import Exchange
from chat.rendering.answer import AnswerView
from chat.rendering.continue_offer import offers
from chat.rendering.dom_patch import build_patch, find_appended_text
from chat.rendering.parts import AnswerPart, NoticePart, TextPart, ToolCard, element_id
from chat.rendering.source_links import get_address, name_place
from chat.rendering.tool_words import name_tools

PAGE_CHARS = 150_000
"""Of HTML that a page shows of an answer that has ended, and of what each "Show more" adds."""


class BlockRef(NamedTuple):
    """A block of an answer: the number of its part, and its own."""

    part: int
    block: int


@cache
def _get_template(name: str) -> Template:
    return Engine.get_default().get_template(f"chat/fragments/_{name}.html")


def render(name: str, **context: Any) -> SafeString:
    """Render one template of the chat. It escapes what it is given, unless that was made here."""
    return _render_template(_get_template(name), **context)


def _render_template(template: Template, **context: Any) -> SafeString:
    return mark_safe(template.render(Context(context)).strip())  # noqa: S308  # by a template


def append(target: str, html: str) -> SafeString:
    """Return what puts HTML, which was made here, at the end of an element of the page."""
    return render("append", target=target, html=html)


# -- the whole ------------------------------------------------------------------------------------


def render_answer(shown: AnswerView, run: AgentRun) -> SafeString:
    """Render the answer as it is now, for a page that has nothing of it."""
    return _render_answer(
        shown, run, "".join(_render_part(part, shown, run) for part in shown.parts)
    )


def _render_answer(shown: AnswerView, run: AgentRun, parts: str) -> SafeString:
    return render(
        "answer",
        answer=shown,
        run=run,
        parts=parts,
        closing=_render_closing(shown, run),
        sources=_render_sources(shown, run),
        end=_render_end(shown, run),
    )


def render_paged_answer(
    shown: AnswerView, run: AgentRun
) -> tuple[SafeString, dict[BlockRef, SafeString]]:
    """Render an answer that has ended: its beginning, and what each "Show more" brings."""
    html, rest, left = [], dict[BlockRef, SafeString](), PAGE_CHARS
    for number, part in enumerate(shown.parts):
        if not isinstance(part, TextPart):
            html.append(_render_part(part, shown, run))
            continue
        end = find_page_end(part.closed, 0, left)
        left -= sum(map(len, part.closed[:end]))
        html.append(
            render(part.template, part=part, run=run, **_blocks_context(part, number, 0, end))
        )
        while end < len(part.closed):
            place, end = BlockRef(number, end), find_page_end(part.closed, end, PAGE_CHARS)
            rest[place] = render("rest", part=part, run=run, **_blocks_context(part, *place, end))
    return _render_answer(shown, run, "".join(html)), rest


def find_page_end(blocks: list[str], start: int, chars: int) -> int:
    """Return how many blocks end a page; the first of a page is always on it."""
    end = start
    while end < len(blocks) and chars > 0:
        chars -= len(blocks[end])
        end += 1
    return end


def _blocks_context(part: TextPart, number: int, start: int, end: int) -> dict[str, Any]:
    blocks = enumerate(part.closed[start:end], start)
    is_more = end < len(part.closed)
    return {"blocks": blocks, "next": BlockRef(number, end) if is_more else None}


def render_exchange(row: Exchange, position: Position, shown: SafeString) -> SafeString:
    """Render a question with its answer."""
    return render(
        "exchange",
        exchange=row,
        run=row.run,
        position=position,
        answer=shown,
        answer_id=element_id(row.run_id),
    )


# -- what has changed -----------------------------------------------------------------------------


def render_update(shown: AnswerView, run: AgentRun) -> str:
    """Render what a page that follows an answer must be sent. `shown` is marked as sent by it."""
    frame = _render_append(shown) or _render_frame(shown, run)
    shown.mark_sent()
    return frame


def _render_append(shown: AnswerView) -> str:
    """Return `+LENGTH TEXT` or `+DEPTH.KEEP HTML` if only the open block is new: mostly so.

    The page knows what they mean; there is only one open block. They can come twice, as any frame.
    """
    changed = shown.changed_parts
    if len(changed) != 1 or shown.new_parts or shown.has_other_changes:
        return ""
    (part,) = changed
    if (
        not isinstance(part, TextPart)
        or part.ended is not None
        or part.sent_blocks < len(part.closed)
    ):
        return ""
    return str(
        find_appended_text(part.sent_tail, part.tail) or build_patch(part.sent_tail, part.tail)
    )


def _render_frame(shown: AnswerView, run: AgentRun) -> str:
    frames = [_render_changed(thing, shown, run) for thing in shown.changed_parts]
    if fresh := shown.new_parts:
        parts = "".join(_render_part(part, shown, run) for part in fresh)
        frames.append(append(f"{shown.id}-parts", parts))
    if shown.closing_changed:
        frames.append(_render_closing(shown, run))
    if shown.sources_changed:
        frames.append(_render_sources(shown, run))
    if shown.usage_changed:
        frames.append(render_meters(shown, run))
    if shown.just_ended:
        frames.append(_render_end(shown, run))
    return "".join(frames)


def _render_changed(thing: AnswerPart | ToolCard, shown: AnswerView, run: AgentRun) -> str:
    if isinstance(thing, TextPart):
        fresh = list(enumerate(thing.closed))[thing.sent_blocks :]
        return render("more_text", part=thing, fresh=fresh)
    if isinstance(thing, ToolCard):
        html = _render_template(thing.template, card=thing, answer=shown, run=run)
        if thing.is_sent or not thing.group:
            return html
        return append(f"{thing.group}-cards", html)
    return _render_part(thing, shown, run)


# -- parts ----------------------------------------------------------------------------------------


def _render_part(part: AnswerPart, shown: AnswerView, run: AgentRun) -> SafeString:
    extra: dict[str, Any] = {}
    if isinstance(part, TextPart):
        extra = {"blocks": part.blocks}
    elif isinstance(part, NoticePart) and part.offers:
        extra = _offers_context(shown, run)
    return render(part.template, part=part, answer=shown, run=run, **extra)


def _render_closing(shown: AnswerView, run: AgentRun) -> SafeString:
    """Render the notice that stays below all parts, if there is one."""
    notice = _render_part(shown.closing, shown, run) if shown.closing else ""
    return render("closing", answer=shown, notice=notice)


def _offers_context(shown: AnswerView, run: AgentRun) -> dict[str, Any]:
    return offers(run, shown.done.termination_reason) if shown.done else {}


def _render_sources(shown: AnswerView, run: AgentRun) -> SafeString:
    cited = [
        (source, name_place(source), get_address(run.project_id, source))
        for source in shown.sources
    ]
    outcome = shown.done.outcome if shown.done else None
    note = shown.sources.note(outcome, is_continued=run.continued_from_id is not None)
    return render("sources", answer=shown, cited=cited, note=note)


def _render_end(shown: AnswerView, run: AgentRun) -> SafeString:
    if (done := shown.done) is None:
        return render("end", answer=shown, run=run)
    return render(
        "end",
        answer=shown,
        run=run,
        reason=get_reason(done.termination_reason),
        explanation=markdown.render(name_tools(done.explanation)) if done.explanation else [],
        offers=shown.offers_at_end,
        seconds=max(0.0, done.at - run.started_at.timestamp()),
        **(_offers_context(shown, run) if shown.offers_at_end else {}),
    )


@dataclass(frozen=True, slots=True)
class UsageMeter:
    """How much of a limit is used, in words and as a share."""

    label: str
    display: str
    percent: int

    @property
    def css_class(self) -> str:
        return limit_css_class(self.percent)


def render_meters(shown: AnswerView | None, run: AgentRun | None) -> SafeString:
    """Render the run's use of its limits, for the head of the page."""
    found: Sequence[UsageMeter] = () if shown is None or run is None else _build_meters(shown, run)
    return render("meters", meters=found, amber=AMBER_PERCENT, red=RED_PERCENT)


def _build_meters(shown: AnswerView, run: AgentRun) -> list[UsageMeter]:
    used, config = shown.usage, run.config
    turns, tokens = config["max_iterations"], config["token_budget"]
    found = [
        UsageMeter("Iterations", f"{used.turns} / {turns}", _percent(used.turns, turns)),
        UsageMeter("Tokens", f"{used.tokens:,} / {tokens:,}", _percent(used.tokens, tokens)),
    ]
    if used.window:
        share = _percent(used.context, used.window)
        found.append(UsageMeter("Context", f"{share} %", share))
    return found


def _percent(used: int, limit: int) -> int:
    return min(100, round(100 * used / limit)) if limit else 0
