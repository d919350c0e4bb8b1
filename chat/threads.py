"""The exchanges of a page: read, put together, and kept for those whose runs have ended."""

from functools import lru_cache
from uuid import UUID

from django.utils.safestring import SafeString, mark_safe

from agents.ledger import store
from agents.models import AgentRun
from chat import fragments, tree
from chat.answers import Answer
from chat.models import Conversation, Exchange

KEPT = 1_000
"""Ended answers whose HTML a process keeps. They never change."""


def thread(conversation: Conversation, rows: list[Exchange], live: Answer | None) -> SafeString:
    """The element that holds the exchanges of a page, oldest first."""
    earlier = rows[0].parent_id if rows else None
    return fragments.render(
        "thread",
        conversation=conversation,
        earlier=earlier,
        exchanges=exchanges(rows, live),
    )


def exchanges(rows: list[Exchange], live: Answer | None = None) -> SafeString:
    """Questions and answers. `live` is the answer that the page goes on to follow."""
    positions = tree.positions(rows)
    return mark_safe(  # noqa: S308  # made by templates
        "".join(
            fragments.exchange(row, positions[row.pk], answer_html(row.run, live)) for row in rows
        )
    )


def answer_html(run: AgentRun, live: Answer | None = None) -> SafeString:
    """The answer of a run as it is stored now, or as `live` has it."""
    if live is not None and live.run_id == run.pk:
        return fragments.answer(live, run)
    if run.outcome is None:
        return fragments.answer(read(run), run)
    return _ended(run.pk, run.last_seq)


@lru_cache(maxsize=KEPT)
def _ended(run_id: UUID, last_seq: int) -> SafeString:
    run = AgentRun.objects.get(pk=run_id)
    return fragments.answer(read(run), run)


def read(run: AgentRun) -> Answer:
    """An answer built from everything that is stored of its run."""
    shown = Answer(run.pk, fragments.link_to(run.project_id))
    for page in store.pages(run.pk):
        for chunk in page.chunks:
            shown.take(chunk)
        shown.upto = page.upto
    shown.settle()
    return shown
