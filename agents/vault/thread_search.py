"""Search over the entries of a project's threads, by the ranker that ranks notes."""

from collections.abc import Sequence
from uuid import UUID

from agents.models import SearchDocument, ThreadEntry
from agents.search.search import SearchHit, SearchRefused, SearchResult, search
from agents.search.sections import split_lines
from agents.search.snippets import build_snippet
from agents.vault.errors import ThreadRefused
from agents.vault.thread_service import EntryHit, EntrySearchResult
from agents.vault.threads import Status


def search_threads(
    project_id: UUID, queries: Sequence[str], *, limit: int, as_typed: bool = False
) -> EntrySearchResult:
    """Return the best entries for one to four phrasings, those of archived threads too."""
    try:
        kinds = [SearchDocument.Kind.THREAD]
        found = search(project_id, queries, limit=limit, kinds=kinds, as_typed=as_typed)
    except SearchRefused as error:
        raise ThreadRefused(str(error)) from None
    return EntrySearchResult(build_entry_hits(project_id, found), found.missing_words)


def build_entry_hits(project_id: UUID, found: SearchResult) -> tuple[EntryHit, ...]:
    """Return the hits of a search that are entries, as people and models read them."""
    hits = [hit for hit in found.hits if hit.kind == SearchDocument.Kind.THREAD]
    standing = ThreadEntry.objects.filter(thread__project=project_id, withdrawn_at__isnull=True)
    rows = standing.select_related("thread").in_bulk([hit.source_id for hit in hits])
    return tuple(
        _build_hit(hit, rows[hit.source_id], found) for hit in hits if hit.source_id in rows
    )


def _build_hit(hit: SearchHit, row: ThreadEntry, found: SearchResult) -> EntryHit:
    lines = split_lines(row.text)
    return EntryHit(
        thread=row.thread.name,
        is_archived=row.thread.status == Status.ARCHIVED,
        number=row.number,
        type=row.kind,
        at=row.at,
        snippet=build_snippet(lines, hit.first_line, hit.last_line, found.weights).text,
        score=hit.score,
    )
