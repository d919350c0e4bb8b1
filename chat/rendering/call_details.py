"""What a call of a vault tool is shown as, when somebody opens its card: hits, or changes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from chat.rendering.source_links import source_linker

_HIT = re.compile(r"\d+\. (?P<path>.+?):(?P<line>\d+) \(score (?P<score>[\d.]+)\) (?P<place>.*)")
_LISTED = re.compile(r"- (?P<path>.+\.\w+) \((?P<title>.*)\)")


@dataclass(frozen=True, slots=True)
class ShownHit:
    """A note that a tool named, with a link to its place."""

    path: str
    title: str
    url: str | None
    line: int | None = None
    snippet: str = ""


def list_hits(project_id: UUID, tool: str, result: str) -> list[ShownHit]:
    """Return the notes that a search or a listing returned; none for other tools."""
    if tool == "vault_search":
        return list(_read_hits(project_id, result))
    return list(_read_listing(project_id, result)) if tool == "vault_list" else []


def _read_hits(project_id: UUID, result: str) -> Iterator[ShownHit]:
    link = source_linker(project_id)
    lines = result.split("\n")
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if match := _HIT.fullmatch(line):
            path, number = match["path"], int(match["line"])
            yield ShownHit(path, match["place"], link(path, number), number, below.strip())


def _read_listing(project_id: UUID, result: str) -> Iterator[ShownHit]:
    link = source_linker(project_id)
    for line in result.split("\n"):
        if match := _LISTED.fullmatch(line):
            yield ShownHit(match["path"], match["title"], link(match["path"], None))
