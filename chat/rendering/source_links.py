"""Where what an answer cites is shown. Addresses hold names alone, so they stay the same."""

from functools import lru_cache
from uuid import UUID

from django.urls import reverse

from agents.core.chunks import SourceRef
from chat.markdown import LinkResolver

NOTE_LINES = 5_000
"""Lines that the page of a note shows."""
THREAD_PREFIX = "thread:"
"""How a cited thread is told from a note."""


def source_linker(project_id: UUID) -> LinkResolver:
    """Return where the cited notes and threads of a project are shown."""

    @lru_cache(maxsize=256)
    def link(path: str, line: int | None) -> str | None:
        if path.startswith(THREAD_PREFIX):
            return _link_entry(project_id, path.removeprefix(THREAD_PREFIX), line)
        return _link_note(project_id, path, line)

    return link


def name_source(source: SourceRef) -> str:
    """Return a source as answers cite it, but for the line."""
    return f"{THREAD_PREFIX}{source.path}" if source.source_type == "thread" else source.path


def get_address(source: SourceRef, link: LinkResolver) -> str | None:
    """Return where a source can be looked at; None if there is no such page."""
    if source.source_type == "web":
        return source.path if source.path.startswith(("https://", "http://")) else None
    return link(name_source(source), source.line)


def name_place(source: SourceRef) -> str:
    """Return a source as people read it: a path and a line, or a thread and an entry."""
    mark = "#" if source.source_type == "thread" else ":"
    return f"{source.path}{mark}{source.line}" if source.line else source.path


def _link_note(project_id: UUID, path: str, line: int | None) -> str | None:
    parts = path.split("/")
    if not (path.endswith(".md") and path.isprintable()) or {"", ".", ".."} & set(parts):
        return None
    address = reverse("note", args=[project_id, path])
    if line and line > NOTE_LINES:
        address += f"?line={line}"
    return f"{address}#L{line}" if line else address


def _link_entry(project_id: UUID, thread: str, number: int | None) -> str | None:
    if not thread.strip(". ") or not thread.isprintable() or set("/#") & set(thread):
        return None
    address = reverse("thread", args=[project_id, thread])
    return f"{address}?entry={number}#entry-{number}" if number else address
