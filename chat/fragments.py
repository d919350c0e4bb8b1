"""Parts of an answer as HTML, and what a page that has the rest must be sent.

The only way from chunks to HTML: `Answer` sorts chunks into parts, each part has one template here.
Every element has an id made here, so a frame that is sent twice changes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import UUID

from django.template import Context, Engine, Template
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from agents.core.config import LIMITS
from agents.core.reasons import REASONS, reason_of
from agents.models import AgentRun
from chat import markdown
from chat.answers import Answer, element_id
from chat.continuing import proposal
from chat.growth import growth, patch
from chat.markdown import Link
from chat.models import Exchange
from chat.parts import Card, NoticePart, Part, TextPart
from chat.tree import Position

AMBER, RED = 70, 90
"""Percent of a limit from which its meter warns."""


@cache
def _template(name: str) -> Template:
    return Engine.get_default().get_template(f"chat/{name}.html")


def render(name: str, **context: Any) -> SafeString:
    """One template of the chat. It escapes what it is given, unless that was made here."""
    return mark_safe(_template(name).render(Context(context)).strip())  # noqa: S308  # by a template


def link_to(project_id: UUID) -> Link:
    """Where a cited note of a project is shown. Depends on the path alone, so it stays the same."""

    def link(path: str, line: int | None) -> str | None:
        parts = path.split("/")
        if not (path.endswith(".md") and path.isprintable()) or {"", ".", ".."} & set(parts):
            return None
        address = reverse("note", args=[project_id, path])
        return f"{address}#L{line}" if line else address

    return link


# -- the whole ------------------------------------------------------------------------------------


def answer(shown: Answer, run: AgentRun) -> SafeString:
    """The answer as it is now, for a page that has nothing of it."""
    return render(
        "answer",
        answer=shown,
        run=run,
        parts="".join(_part(part, shown, run) for part in shown.parts),
        sources=_sources(shown, run),
        end=_end(shown, run),
    )


def exchange(row: Exchange, position: Position, shown: SafeString) -> SafeString:
    """A question with its answer."""
    return render(
        "exchange",
        exchange=row,
        run=row.run,
        position=position,
        answer=shown,
        answer_id=element_id(row.run_id),
    )


# -- what has changed -----------------------------------------------------------------------------


def news(shown: Answer, run: AgentRun) -> str:
    """What a page that follows an answer must be sent. `shown` is settled by it."""
    frame = _growth(shown) or _frame(shown, run)
    shown.settle()
    return frame


def _growth(shown: Answer) -> str:
    """`+LENGTH TEXT` or `+DEPTH.KEEP HTML` if nothing is new but in the open block: mostly so.

    The page knows what they mean; there is only one open block. They can come twice, as any frame.
    """
    changed = shown.changed
    if len(changed) != 1 or shown.fresh or shown.has_more_news:
        return ""
    (part,) = changed
    if not isinstance(part, TextPart) or part.ended is not None or part.sent < len(part.closed):
        return ""
    return str(growth(part.sent_tail, part.tail) or patch(part.sent_tail, part.tail))


def _frame(shown: Answer, run: AgentRun) -> str:
    frames = [_again(thing, shown, run) for thing in shown.changed]
    if fresh := shown.fresh:
        parts = "".join(_part(part, shown, run) for part in fresh)
        frames.append(f'<div hx-swap-oob="beforeend:#{shown.id}-parts">{parts}</div>')
    if shown.sources_changed:
        frames.append(_sources(shown, run))
    if shown.usage_changed:
        frames.append(meters(shown, run))
    if shown.just_ended:
        frames.append(_end(shown, run))
    return "".join(frames)


def _again(thing: Part | Card, shown: Answer, run: AgentRun) -> str:
    if isinstance(thing, TextPart):
        fresh = list(enumerate(thing.closed))[thing.sent :]
        return render("more_text", part=thing, fresh=fresh)
    if isinstance(thing, Card):
        html = render("card", card=thing, answer=shown, run=run)
        if thing.shown or not thing.group:
            return html
        return f'<div hx-swap-oob="beforeend:#{thing.group}-cards">{html}</div>'
    return _part(thing, shown, run)


# -- parts ----------------------------------------------------------------------------------------


def _part(part: Part, shown: Answer, run: AgentRun) -> SafeString:
    extra = _offers(shown, run) if isinstance(part, NoticePart) and part.offers else {}
    return render(part.template, part=part, answer=shown, run=run, **extra)


@dataclass(frozen=True, slots=True)
class Raised:
    """A limit that a continuation may raise."""

    name: str
    label: str
    value: int
    minimum: int
    maximum: int


def _offers(shown: Answer, run: AgentRun) -> dict[str, Any]:
    """What to do about an early end: why it ended, and the limit to raise if that helps."""
    if shown.done is None:
        return {}
    run.reason = shown.done.termination_reason  # the row may have been read before the end
    raised = [
        Raised(name, LIMITS[name].label, value, LIMITS[name].minimum, LIMITS[name].maximum)
        for name, value in proposal(run).items()
    ]
    reason = REASONS.get(run.reason) if run.reason in REASONS else None
    return {"why": reason.remedy if reason else "", "raised": raised[0] if raised else None}


def _sources(shown: Answer, run: AgentRun) -> SafeString:
    link = link_to(run.project_id)
    cited = [(source, link(source.path, source.line)) for source in shown.sources.values()]
    return render("sources", answer=shown, cited=cited)


def _end(shown: Answer, run: AgentRun) -> SafeString:
    if (done := shown.done) is None:
        return render("end", answer=shown, run=run)
    return render(
        "end",
        answer=shown,
        run=run,
        reason=reason_of(done.termination_reason),
        explanation=markdown.render(done.explanation) if done.explanation else [],
        offers=shown.offers_at_end,
        seconds=max(0.0, done.at - run.started_at.timestamp()),
        **(_offers(shown, run) if shown.offers_at_end else {}),
    )


@dataclass(frozen=True, slots=True)
class Meter:
    """How much of a limit is used, in words and as a share."""

    label: str
    words: str
    percent: int

    @property
    def tone(self) -> str:
        if self.percent >= RED:
            return "high"
        return "amber" if self.percent >= AMBER else ""


def meters(shown: Answer | None, run: AgentRun | None) -> SafeString:
    """The run's use of its limits, for the head of the page."""
    found: Sequence[Meter] = () if shown is None or run is None else _meters(shown, run)
    return render("meters", meters=found)


def _meters(shown: Answer, run: AgentRun) -> list[Meter]:
    used, config = shown.usage, run.config
    turns, tokens = config["max_iterations"], config["token_budget"]
    found = [
        Meter("Turns", f"{used.turns} / {turns}", _percent(used.turns, turns)),
        Meter("Tokens", f"{used.tokens:,} / {tokens:,}", _percent(used.tokens, tokens)),
    ]
    if used.window:
        share = _percent(used.context, used.window)
        found.append(Meter("Context", f"{share} %", share))
    return found


def _percent(used: int, limit: int) -> int:
    return min(100, round(100 * used / limit)) if limit else 0
