"""The exchanges of a page: read, put together, and kept once they are rendered."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from django.utils.safestring import SafeString, mark_safe

from agents.ledger import iter_pages
from agents.models import AgentRun
from chat.conversations import tree
from chat.models import Conversation, Exchange
from chat.rendering import fragments, quota
from chat.rendering.answer import AnswerView
from chat.rendering.cache import RenderCache
from chat.rendering.fragments import BlockRef
from chat.rendering.source_links import source_linker

MAX_CACHED_CHARS = 32_000_000
"""Characters of answers that a process keeps as HTML."""


@dataclass(frozen=True, slots=True)
class RenderedAnswer:
    """The answer of a run as HTML, with its meters, and what comes after the beginning of it."""

    run_id: UUID
    html: SafeString
    meters: SafeString
    activity: str = ""
    """How it ended, for those who listen; empty while it goes on."""
    rest: Mapping[BlockRef, SafeString] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return len(self.html) + sum(map(len, self.rest.values()))


_cache: RenderCache[tuple[UUID, int, str | None], RenderedAnswer] = RenderCache(
    MAX_CACHED_CHARS, lambda shown: shown.size
)


def render_thread(
    conversation: Conversation, rows: list[Exchange], live: RenderedAnswer | None
) -> SafeString:
    """Render the element that holds the exchanges of a page, oldest first."""
    earlier = rows[0].parent_id if rows else None
    return fragments.render(
        "thread",
        conversation=conversation,
        earlier=earlier,
        exchanges=render_exchanges(rows, live),
    )


def render_exchanges(rows: list[Exchange], live: RenderedAnswer | None = None) -> SafeString:
    """Render questions and answers. `live` is the answer that the page goes on to follow."""
    positions = tree.get_positions(rows)
    return mark_safe(  # noqa: S308  # made by templates
        "".join(
            fragments.render_exchange(row, positions[row.pk], _answer_html(row.run, live))
            for row in rows
        )
    )


def _answer_html(run: AgentRun, live: RenderedAnswer | None) -> SafeString:
    return (
        live.html if live is not None and live.run_id == run.pk else get_rendered_answer(run).html
    )


def get_rendered_answer(run: AgentRun) -> RenderedAnswer:
    """Return the answer of a run as it is stored now. What was erased is neither shown nor kept."""
    if run.is_erased:
        forget_runs([run.pk])
        return _render_answer(run)
    return _cache.get_or_create((run.pk, run.last_seq, run.outcome), lambda: _render_answer(run))


def forget_runs(run_ids: list[UUID]) -> None:
    """Drop what is kept of these runs."""
    gone = set(run_ids)
    _cache.drop(lambda key: key[0] in gone)


def _render_answer(run: AgentRun) -> RenderedAnswer:
    run = AgentRun.objects.get(pk=run.pk)
    answer = load_answer(run)
    quota.add_cost(answer.cost)
    meters = fragments.render_meters(answer, run)
    if answer.done is None:  # it is followed: its end is where the next words go
        return RenderedAnswer(run.pk, fragments.render_answer(answer, run), meters)
    html, rest = fragments.render_paged_answer(answer, run)
    return RenderedAnswer(run.pk, html, meters, answer.activity, rest)


def load_answer(run: AgentRun) -> AnswerView:
    """Return an answer built from everything that is stored of its run."""
    answer = AnswerView(run.pk, source_linker(run.project_id))
    for page in iter_pages(run.pk):
        for chunk in page.chunks:
            answer.apply(chunk)
        answer.last_seq = page.last_seq
    answer.mark_sent()
    return answer
