"""Candidates as rows: documents and sections that a finder found, with their terms."""

from collections.abc import Iterable

from agents.models import SearchDocument, SearchSection
from agents.search.ranking import DocumentCandidate, SectionCandidate

_RANKED_COLUMNS = (
    *("id", "length"),
    *("title_terms", "heading_terms", "extra_terms", "body_terms"),
)


def load_documents(ids: Iterable[int]) -> list[DocumentCandidate]:
    rows = SearchDocument.objects.filter(id__in=ids).values_list(
        *_RANKED_COLUMNS, "kind", "source_id", "path", "title", "is_template"
    )
    return [DocumentCandidate(row[0], row[1], row[2:6], *row[6:]) for row in rows]


def load_sections(ids: Iterable[int]) -> list[SectionCandidate]:
    rows = SearchSection.objects.filter(id__in=ids).values_list(
        *_RANKED_COLUMNS, "document_id", "heading_path", "first_line", "last_line"
    )
    return [SectionCandidate(row[0], row[1], row[2:6], *row[6:]) for row in rows]
