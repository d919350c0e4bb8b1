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
    get_common_count,
    list_missing_words,
    list_terms,
    weigh_terms,
)
from agents.search.ranking import (
    DOCUMENT_WEIGHTS,
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
    terms: frozenset[str]
    """What was looked for, as `snippets` wants it."""


def search(
    project_id: UUID,
    queries: Sequence[str],
    *,
    limit: int = 5,
    kinds: Sequence[str] = ALL_KINDS,
    folder: str = "",
    source_ids: Collection[int] | None = None,
) -> SearchResult:
    """Return the best documents of a project, best first; templates come last."""
    if not 1 <= len(queries) <= MAX_QUERIES:
        raise SearchRefused(f"Pass 1 to {MAX_QUERIES} queries, not {len(queries)}.")
    scopes = tuple(get_scope(project_id, kind) for kind in kinds)
    phrasings = [parse_query(query) for query in queries]
    return _Search(get_finder(Place(scopes, folder, source_ids)), phrasings).run(max(1, limit))


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
        self.size = self.finder.measure(DOCUMENTS)
        terms = list_terms(self.words)
        bound = get_common_count(self.size.rows) + 1
        self.counts = self.finder.count_documents(terms, bound) if terms else {}
        weights = [weigh_terms(words, self.counts, self.size.rows) for words in self.phrasings]
        weights = [weight for weight in weights if weight]
        hits = self._find_hits(weights, limit) if weights else []
        return SearchResult(
            hits=tuple(hits),
            missing_words=list_missing_words(self.words, self.counts),
            terms=frozenset().union(*weights),
        )

    def _find_hits(self, weights: list[dict[str, float]], limit: int) -> list[SearchHit]:
        self.section_size = self.finder.measure(SECTIONS)
        fused = fuse([self._rank(each) for each in weights])
        fused.sort(key=lambda id: self.documents[id].is_template)
        best = fused[:limit]
        merged = {term: weight for each in weights for term, weight in each.items()}
        self._add_sections(merged, [id for id in best if id not in self.best_sections])
        return [self._build_hit(self.documents[id]) for id in best]

    def _rank(self, weights: Mapping[str, float]) -> list[int]:
        """Return the ids of the documents that fit these terms, best first."""
        ids = {*self.finder.find(DOCUMENTS, weights)}
        sections = self._add_sections(weights, None)
        ids |= sections.keys()
        new = load_documents(ids - self.documents.keys())
        self.documents.update({document.id: document for document in new})
        rows = [self.documents[id] for id in ids]
        scores = score_rows(rows, weights, DOCUMENT_WEIGHTS, self.size.mean_length)
        most = compute_best_score(weights)
        for id in ids:
            scores[id] += sections.get(id, 0.0)
            self.scores[id] = max(self.scores.get(id, 0.0), min(1.0, scores[id] / most))
        return sorted(ids, key=lambda id: (-scores[id], self.documents[id].path))

    def _add_sections(
        self, weights: Mapping[str, float], document_ids: list[int] | None
    ) -> dict[int, float]:
        """Return the best section's score of each document that has one, and keep the section."""
        if document_ids == []:
            return {}
        sections = load_sections(self.finder.find(SECTIONS, weights, document_ids))
        scores = score_rows(sections, weights, SECTION_WEIGHTS, self.section_size.mean_length)
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
            word.written for word in self.words if any(f" {term} " in text for term in word.terms)
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
