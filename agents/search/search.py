"""Search in a project: the best documents for one to four phrasings of what is looked for.

    result = search(project.id, ["permit for the quay", "harbour licence"], limit=5)
    result.hits[0].path, result.missing_words

Each phrasing has its own list, and the lists are fused. Texts are not read here: a hit names the
lines, and `snippets` makes the rest of them.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from agents.models import SearchDocument
from agents.search.analysis import QueryWord, parse_query
from agents.search.candidates import (
    DocumentCandidate,
    SectionCandidate,
    load_documents,
    load_sections,
)
from agents.search.finders import DOCUMENTS, SECTIONS, Finder, Place, get_finder
from agents.search.fusion import fuse
from agents.search.index import get_scope
from agents.search.query_terms import (
    QueryTerms,
    get_count_limit,
    list_missing_words,
    list_terms,
    weigh_terms,
)
from agents.search.ranking import (
    DOCUMENT_WEIGHTS,
    SECTION_SHARE,
    SECTION_WEIGHTS,
    compute_best_score,
    score_rows,
)

MAX_QUERIES = 4
ALL_KINDS = tuple(SearchDocument.Kind.values)


class SearchRefused(Exception):
    """The search cannot be made. The message says what to do."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A document and its best place. `score` says how much of the query it has, from 0 to 1."""

    kind: str
    source_id: int
    path: str
    title: str
    heading_path: tuple[str, ...]
    first_line: int
    last_line: int
    score: float
    words: tuple[str, ...]
    """The words of the queries that it has, as they were written."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    hits: tuple[SearchHit, ...]
    missing_words: tuple[str, ...]
    """Words of the queries that no document of the project has."""
    weights: Mapping[str, float]
    """The terms that were looked for, as `snippets` wants them."""


def search(
    project_id: UUID,
    queries: Sequence[str],
    *,
    limit: int = 5,
    kinds: Sequence[str] = ALL_KINDS,
    source_ids: Collection[int] | None = None,
) -> SearchResult:
    """Return the best documents of a project, best first; templates come last.

    With `source_ids`, no others are looked at.
    """
    if not 1 <= len(queries) <= MAX_QUERIES:
        raise SearchRefused(f"Pass 1 to {MAX_QUERIES} queries, not {len(queries)}.")
    scopes = tuple(get_scope(project_id, kind) for kind in kinds)
    phrasings = [parse_query(query) for query in queries]
    return _Search(get_finder(Place(scopes, source_ids)), phrasings).run(max(1, limit))


class _Search:
    """One search: what its phrasings share is asked of the database once."""

    def __init__(self, finder: Finder, phrasings: list[list[QueryWord]]) -> None:
        self.finder = finder
        self.phrasings = phrasings
        self.words = [word for words in phrasings for word in words]
        self.documents: dict[int, DocumentCandidate] = {}
        self.best_sections: dict[int, tuple[float, SectionCandidate]] = {}
        self.scores: dict[int, float] = {}

    def run(self, limit: int) -> SearchResult:
        self.size = self.finder.measure()
        terms = list_terms(self.words)
        count_limit = get_count_limit(self.size.documents)
        self.counts = self.finder.count_documents(terms, count_limit) if terms else {}
        weighed = [weigh_terms(words, self.counts, self.size.documents) for words in self.phrasings]
        weighed = [terms for terms in weighed if terms.sought]
        hits = self._find_hits(weighed, limit) if weighed else []
        return SearchResult(
            hits=tuple(hits),
            missing_words=list_missing_words(self.words, self.counts),
            weights={term: weight for each in weighed for term, weight in each.sought.items()},
        )

    def _find_hits(self, weighed: list[QueryTerms], limit: int) -> list[SearchHit]:
        fused = fuse([self._rank(terms) for terms in weighed])
        fused.sort(key=lambda id: self.documents[id].is_template)
        best = fused[:limit]
        if unplaced := [id for id in best if id not in self.best_sections]:
            for terms in weighed:
                self._score_sections(terms, unplaced)
        return [self._build_hit(self.documents[id]) for id in best]

    def _rank(self, terms: QueryTerms) -> list[int]:
        """Return the ids of the documents that fit these terms, best first."""
        sections = self._score_sections(terms)
        ids = {*self.finder.find(DOCUMENTS, terms.sought)} | sections.keys()
        new = load_documents(ids - self.documents.keys())
        self.documents.update({document.id: document for document in new})
        rows = [self.documents[id] for id in ids]
        scores = score_rows(rows, terms.ranked, DOCUMENT_WEIGHTS, self.size.mean_document_length)
        best_score = compute_best_score(terms.ranked)
        for id in ids:
            scores[id] += SECTION_SHARE * sections.get(id, 0.0)
            self.scores[id] = max(self.scores.get(id, 0.0), min(1.0, scores[id] / best_score))
        return sorted(ids, key=lambda id: (-scores[id], self.documents[id].path))

    def _score_sections(
        self, terms: QueryTerms, document_ids: list[int] | None = None
    ) -> dict[int, float]:
        """Return the best section's score of each document that has one, and keep the section."""
        sections = load_sections(self.finder.find(SECTIONS, terms.sought, document_ids))
        mean_length = self.size.mean_section_length
        scores = score_rows(sections, terms.ranked, SECTION_WEIGHTS, mean_length)
        best: dict[int, float] = {}
        for section in sorted(sections, key=lambda section: section.first_line):
            score, id = scores[section.id], section.document_id
            best[id] = max(best.get(id, 0.0), score)
            if id not in self.best_sections or self.best_sections[id][0] < score:
                self.best_sections[id] = score, section
        return best

    def _build_hit(self, document: DocumentCandidate) -> SearchHit:
        place = self.best_sections.get(document.id)
        section = place[1] if place else None
        headings = section.heading_path.split("\n") if section and section.heading_path else []
        text = "".join(document.columns)
        found = (
            word.written
            for word in self.words
            if not word.is_filler and any(f" {term} " in text for term in word.terms)
        )
        return SearchHit(
            kind=document.kind,
            source_id=document.source_id,
            path=document.path,
            title=document.title,
            heading_path=tuple(headings),
            first_line=section.first_line if section else 1,
            last_line=section.last_line if section else 1,
            score=round(self.scores[document.id], 3),
            words=tuple(dict.fromkeys(found)),
        )
