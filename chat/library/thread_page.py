"""A thread as a page shows it: a stretch of its entries, each with who wrote it, as HTML."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User
from django.core.paginator import Page, Paginator
from django.urls import reverse

from agents.models import NoteVersion, Project, Thread, ThreadEntry
from agents.projects.queries import can_manage, can_write
from chat.library.thread_changes import may_withdraw
from chat.markdown import RenderBudget, render
from chat.rendering import quota
from chat.rendering.cache import RenderCache
from chat.rendering.source_links import source_linker

PAGE_SIZE = 25
MAX_CACHED_CHARS = 8_000_000
"""Characters of entries that a process keeps as HTML. An entry never changes."""
Source = NoteVersion.Source

_cache: RenderCache[tuple[int, int], list[str]] = RenderCache(
    MAX_CACHED_CHARS, lambda blocks: sum(map(len, blocks))
)


@dataclass(frozen=True, slots=True)
class EntryOnPage:
    """An entry to be shown. `run_url` leads the one who asked back to the answer."""

    entry: ThreadEntry
    blocks: list[str]
    byline: str
    run_url: str
    can_withdraw: bool


@dataclass(frozen=True, slots=True)
class ThreadPage:
    entries: list[EntryOnPage]
    page: "Page[int]"
    """The numbers of the entries, newest first, a page at a time."""


def build_thread_page(
    user: User, project: Project, thread: Thread, *, number: int = 0, page: str | None = None
) -> ThreadPage:
    """Return a page of a thread's entries, newest first: the one that has an entry if named."""
    numbers = Paginator(range(thread.entry_count, 0, -1), PAGE_SIZE)
    if 1 <= number <= thread.entry_count:
        shown = numbers.page((thread.entry_count - number) // PAGE_SIZE + 1)
    else:
        shown = numbers.get_page(page)
    rows = thread.entries.filter(number__in=shown.object_list).order_by("-number")
    entries = rows.select_related("user", "run", "withdrawn_by")
    return ThreadPage(_build_views(user, project, entries), shown)


def _build_views(user: User, project: Project, entries: Iterable[ThreadEntry]) -> list[EntryOnPage]:
    is_writer, is_owner = can_write(user, project), can_manage(user, project)
    views = []
    for entry in entries:
        own_run = entry.run if entry.run and entry.run.user_id == user.pk else None
        views.append(
            EntryOnPage(
                entry=entry,
                blocks=[] if entry.withdrawn_at else _render(project.pk, entry),
                byline=_describe_author(entry),
                run_url=reverse("run", args=[own_run.pk]) if own_run else "",
                can_withdraw=is_writer and may_withdraw(user, entry, is_owner=is_owner),
            )
        )
    return views


def _render(project_id: UUID, entry: ThreadEntry) -> list[str]:
    def make() -> list[str]:
        budget = RenderBudget()
        blocks = render(entry.text, source_linker(project_id), budget)
        quota.add_cost(budget.spent)
        return blocks

    return _cache.get_or_create((entry.pk, hash((project_id, entry.text))), make)


def _describe_author(entry: ThreadEntry) -> str:
    """Say who wrote an entry; those who were deleted are not named."""
    name = entry.user.get_username() if entry.user else ""
    if entry.source == Source.RUN:
        return f"Oracle, for {name}" if name else "Oracle"
    if entry.source == Source.IMPORT:
        return f"imported by {name}" if name else "imported"
    return f"{name}, from an answer" if name and entry.run_id else name
