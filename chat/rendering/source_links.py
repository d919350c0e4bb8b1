"""Where what an answer cites is shown. Addresses hold names alone, so they stay the same."""

import re
from functools import lru_cache
from uuid import UUID

from django.urls import reverse

from agents.core.answer_sources import THREAD_PREFIX
from agents.core.chunks import SourceRef
from agents.core.sanitize import truncate
from agents.tools.web_hosts import name_host
from agents.vault.paths import NOTE_SUFFIX
from agents.vault.thread_names import drop_direction_marks
from chat.markdown import LinkResolver
from chat.markdown.highlight import find_language

NOTE_LINES = 5_000
"""Lines that the page of a note shows."""
CODE_LINES = 400
"""Lines that the page of a file of code shows."""
_NEVER_IN_NAMES = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Controls and marks of direction. Joined emoji and hard blanks are no less a name."""


def source_linker(project_id: UUID) -> LinkResolver:
    """Return where the cited notes, threads and code of a project are shown."""

    @lru_cache(maxsize=256)
    def link(path: str, line: int | None) -> str | None:
        if path.startswith(THREAD_PREFIX):
            return link_entry(project_id, path.removeprefix(THREAD_PREFIX), line)
        if path.endswith(NOTE_SUFFIX):
            return _link_note(project_id, path, line)
        return link_code(project_id, path, line) if find_language(path) else None

    return link


def get_address(project_id: UUID, source: SourceRef) -> str | None:
    """Return where a source can be looked at; None if there is no such page."""
    match source.source_type:
        case "vault":
            return _link_note(project_id, source.path, source.line)
        case "thread":
            return link_entry(project_id, source.path, source.line)
        case "code":
            return link_code(project_id, source.path, source.line)
        case "web":
            return source.path if source.path.startswith(("https://", "http://")) else None


def name_place(source: SourceRef) -> str:
    """Return a source as people read it: a path and a line, a thread and an entry, or a page."""
    if source.source_type == "web":
        return _name_page(source)
    mark = "#" if source.source_type == "thread" else ":"
    return f"{source.path}{mark}{source.line}" if source.line else source.path


def _name_page(source: SourceRef) -> str:
    """Return the title and the host of a page, else the beginning of its address."""
    title = drop_direction_marks(source.heading)
    return f"{title} ({name_host(source.path)})" if title else truncate(source.path)


def _link_note(project_id: UUID, path: str, line: int | None) -> str | None:
    if not path.endswith(NOTE_SUFFIX):
        return None
    return _link_line(project_id, "note", path, line, NOTE_LINES)


def link_code(project_id: UUID, path: str, line: int | None) -> str | None:
    """Return where a file of code is shown, at a line."""
    return _link_line(project_id, "code", path, line, CODE_LINES)


def _link_line(project_id: UUID, page: str, path: str, line: int | None, shown: int) -> str | None:
    if _NEVER_IN_NAMES.search(path) or {"", ".", ".."} & set(path.split("/")):
        return None
    address = reverse(page, args=[project_id, path])
    if line and line > shown:
        address += f"?line={line}"
    return f"{address}#L{line}" if line else address


def link_entry(project_id: UUID, thread: str, number: int | None) -> str | None:
    name = drop_direction_marks(thread)
    if not name.strip(". ") or _NEVER_IN_NAMES.search(name) or set("/#") & set(name):
        return None
    address = reverse("thread", args=[project_id, name])
    return f"{address}?entry={number}#entry-{number}" if number else address
