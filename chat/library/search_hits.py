"""One search over the notes, threads and code of a project, as its page shows the hits."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.http import urlencode

from agents.code.code_search import search_code
from agents.code.service import CodeHit
from agents.models import Project
from agents.vault.note_search import search_notes
from agents.vault.service import NoteHit
from agents.vault.thread_search import search_threads
from agents.vault.thread_service import EntryHit
from chat.library.note_syntax import make_anchor
from chat.rendering.code_lines import CodeLine, number_code, split_code

KINDS = {"notes": "note", "threads": "entry", "code": "file"}
"""What can be searched, and what one hit of it is."""
ALL = "all"
MAX_HITS = 20
MAX_CODE_LINES = 4


@dataclass(frozen=True, slots=True)
class LibraryHit:
    """A place that a search found, with a link to it."""

    kind: str
    title: str
    context: str
    """The headings or the definition around it."""
    path: str
    url: str
    score: float
    snippet: str = ""
    first_line: int = 1
    lines: Sequence[CodeLine] = ()


@dataclass(frozen=True, slots=True)
class LibraryHits:
    """The best places, best first, and the words that nothing has that was searched."""

    hits: Sequence[LibraryHit]
    missing_words: Sequence[str]

    @property
    def is_cut(self) -> bool:
        """Whether there may be more."""
        return len(self.hits) >= MAX_HITS


@dataclass(frozen=True, slots=True)
class LibrarySearch:
    """What is looked for. With a tag or a folder, which only notes have, notes alone are."""

    project: Project
    query: str
    kind: str = ALL
    tag: str = ""
    folder: str = ""

    @property
    def kinds(self) -> list[str]:
        if self.tag or self.folder:
            return ["notes"]
        return [kind for kind in KINDS if self.kind in (kind, ALL)]


def search_library(search: LibrarySearch) -> LibraryHits:
    """Return the best hits of all kinds that are looked for, by how much of the query they have."""
    finders = {"notes": _find_notes, "threads": _find_entries, "code": _find_code}
    found = [finders[kind](search) for kind in search.kinds]
    hits = sorted((hit for each in found for hit in each.hits), key=lambda hit: -hit.score)
    missing = [set(each.missing_words) for each in found]
    words = [word for word in found[0].missing_words if all(word in some for some in missing)]
    return LibraryHits(hits[:MAX_HITS], words)


def _find_notes(search: LibrarySearch) -> LibraryHits:
    found = search_notes(
        search.project.pk,
        [search.query],
        limit=MAX_HITS,
        tag=search.tag,
        folder=search.folder,
        as_typed=True,
    )
    return LibraryHits([_show_note(search.project, hit) for hit in found.hits], found.missing_words)


def _show_note(project: Project, hit: NoteHit) -> LibraryHit:
    anchor = make_anchor(hit.heading.rpartition(" > ")[2]) if hit.heading else ""
    place = urlencode({"at": anchor})
    return LibraryHit(
        kind="notes",
        title=hit.title or hit.path,
        context=hit.heading,
        path=hit.path,
        url=reverse("library-note", args=[project.slug, hit.path])
        + (f"?{place}#{place.removeprefix('at=')}" if anchor else ""),
        score=hit.score,
        snippet=hit.snippet,
    )


def _find_entries(search: LibrarySearch) -> LibraryHits:
    found = search_threads(search.project.pk, [search.query], limit=MAX_HITS, as_typed=True)
    hits = [_show_entry(search.project, hit) for hit in found.hits]
    return LibraryHits(hits, found.missing_words)


def _show_entry(project: Project, hit: EntryHit) -> LibraryHit:
    address = reverse("library-thread", args=[project.slug, hit.thread])
    return LibraryHit(
        kind="threads",
        title=f"{hit.thread} #{hit.number}",
        context=hit.type.capitalize(),
        path=f"Archived, {hit.at:%-d %b %Y}" if hit.is_archived else f"{hit.at:%-d %b %Y}",
        url=f"{address}?entry={hit.number}#entry-{hit.number}",
        score=hit.score,
        snippet=hit.snippet,
    )


def _find_code(search: LibrarySearch) -> LibraryHits:
    found = search_code(search.project.pk, [search.query], limit=MAX_HITS, as_typed=True)
    return LibraryHits([_show_code(search.project, hit) for hit in found.hits], found.missing_words)


def _show_code(project: Project, hit: CodeHit) -> LibraryHit:
    address = reverse("library-code-file", args=[project.slug, hit.path])
    return LibraryHit(
        kind="code",
        title=f"{hit.path}:{hit.line}",
        context=hit.symbol,
        path="",
        url=f"{address}?line={hit.line}#L{hit.line}",
        score=hit.score,
        first_line=hit.line,
        lines=number_code(split_code(hit.snippet)[:MAX_CODE_LINES], hit.path, hit.line),
    )
