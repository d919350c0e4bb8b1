"""Search over the notes of a project: places that fit, with the line that says why."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from django.db.models import Q

from agents.core.frontmatter import read_frontmatter
from agents.models import Note, NoteTag, SearchDocument
from agents.search.analysis import analyse
from agents.search.search import SearchHit, SearchRefused, SearchResult, search
from agents.search.sections import split_lines
from agents.search.snippets import NoteSnippet, build_snippet, find_terms
from agents.vault.errors import NoteRefused
from agents.vault.listing import normalise_folder
from agents.vault.notes import notes_for
from agents.vault.paths import make_key
from agents.vault.searchable_text import get_readable_text
from agents.vault.service import NoteHit, NoteSearchResult


def search_notes(
    project_id: UUID,
    queries: Sequence[str],
    *,
    limit: int,
    folder: str = "",
    tag: str = "",
    as_typed: bool = False,
) -> NoteSearchResult:
    """Return the best notes for one to four phrasings, below a folder or with a tag if given."""
    try:
        found = search(
            project_id,
            queries,
            limit=limit,
            kinds=[SearchDocument.Kind.NOTE],
            source_ids=_find_chosen(project_id, folder, tag),
            as_typed=as_typed,
        )
    except SearchRefused as error:
        raise NoteRefused(str(error)) from None
    notes = notes_for(project_id).in_bulk([hit.source_id for hit in found.hits])
    hits = (
        _build_hit(hit, notes[hit.source_id], found) for hit in found.hits if hit.source_id in notes
    )
    return NoteSearchResult(tuple(hits), found.missing_words)


def _find_chosen(project_id: UUID, folder: str, tag: str) -> list[int] | None:
    """Return the notes to look at, None for all. A tag stands for those below it too."""
    prefix, key = make_key(normalise_folder(folder)), make_key(tag.strip().lstrip("#"))
    if not prefix and not key:
        return None
    chosen = notes_for(project_id).filter(key__startswith=prefix)
    if key:
        tagged = NoteTag.objects.filter(Q(key=key) | Q(key__startswith=f"{key}/"))
        chosen = chosen.filter(pk__in=tagged.filter(project=project_id).values("note"))
    return list(chosen.values_list("pk", flat=True))


def _build_hit(hit: SearchHit, note: Note, found: SearchResult) -> NoteHit:
    lines = split_lines(get_readable_text(note))
    snippet = build_snippet(lines, hit.first_line, hit.last_line, found.weights)
    end = read_frontmatter(lines).end
    if snippet.line <= end:
        snippet = _look_below(lines, end, snippet, found.weights)
    return NoteHit(
        path=note.path,
        title=note.title,
        heading=" > ".join(name for name in hit.heading_path if name != note.title),
        line=snippet.line,
        snippet=snippet.text,
        score=hit.score,
        first_line=hit.first_line,
        last_line=hit.last_line,
    )


def _look_below(
    lines: Sequence[str], end: int, of_properties: NoteSnippet, weights: Mapping[str, float]
) -> NoteSnippet:
    """Return what stands below the properties, which say little to a reader, unless only they have
    what was looked for. A note of nothing but properties has no text to show."""
    below = build_snippet(lines[end:], 1, len(lines), weights)
    if find_terms(analyse(below.text), weights):
        return replace(below, line=end + below.line)
    if find_terms(analyse(of_properties.text), weights):
        return of_properties
    return replace(below, line=min(end + below.line, len(lines)))
