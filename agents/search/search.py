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
from agents.search.candidates import load_documents, load_sections
from agents.search.code_analysis import get_identifier_term, parse_identifiers
from agents.search.finders import (
    MAX_CANDIDATES,
    SECTIONS,
    Finder,
    Place,
    get_finder,
)
from agents.search.fusion import fuse
from agents.search.index import WHOLE_KINDS, get_scope
from agents.search.query_terms import (
    QueryTerms,
    get_count_limit,
    list_missing_words,
    list_terms,
    weigh_terms,
)
from agents.search.ranking import (
    DocumentCandidate,
    MeanLengths,
    RankedDocument,
    Ranking,
    SectionCandidate,
)

MAX_QUERIES = 4
SHORTLIST = 30
MAX_WHOLE_LINES = 100_000
"""Where the last line of a text that is its own section is looked for at most."""
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
    as_typed: bool = False,
) -> SearchResult:
    """Return the best documents of a project, best first; templates come last.

    With `source_ids`, no others are looked at. As queries are typed, their last words may be the
    beginnings of others.
    """
    if not 1 <= len(queries) <= MAX_QUERIES:
        raise SearchRefused(f"Pass 1 to {MAX_QUERIES} queries, not {len(queries)}.")
    scopes = tuple(get_scope(project_id, kind) for kind in kinds)
    phrasings = [parse_query(query, as_typed=as_typed) for query in queries]
    if SearchDocument.Kind.CODE in kinds:
        phrasings = [
            [*words, *parse_identifiers(query)]
            for words, query in zip(phrasings, queries, strict=True)
        ]
    place = Place(scopes, source_ids, has_sections=not WHOLE_KINDS.issuperset(kinds))
    return _Search(get_finder(place), phrasings).run(max(1, limit))


def find_code_with(project_id: UUID, name: str, limit: int) -> list[int]:
    """Return the sources of code that may use a name, and others that use nearly the same."""
    term = get_identifier_term(name)
    scope = get_scope(project_id, SearchDocument.Kind.CODE)
    return get_finder(Place((scope,))).list_sources(term, limit) if term else []


def _is_whole(document: DocumentCandidate) -> bool:
    return document.kind in WHOLE_KINDS


def _as_section(document: DocumentCandidate) -> SectionCandidate:
    """Return a whole document as the one section that it is."""
    lines = (1, MAX_WHOLE_LINES)
    own = (-document.id, document.length, document.columns)  # no row of a section has such an id
    return SectionCandidate(*own, document.id, "", *lines)


class _Search:
    """One search: what its phrasings share is asked of the database once."""

    def __init__(self, finder: Finder, phrasings: list[list[QueryWord]]) -> None:
        self.finder = finder
        self.phrasings = phrasings
        self.words = [word for words in phrasings for word in words]
        self.documents: dict[int, DocumentCandidate] = {}
        self.found: dict[int, RankedDocument] = {}
        """Each document as the phrasing found it that fits it best."""

    def run(self, limit: int) -> SearchResult:
        size = self.finder.size
        self.means = MeanLengths(size.mean_document_length, size.mean_section_length)
        terms = list_terms(self.words)
        count_limit = get_count_limit(size.documents)
        counts = self.finder.count_documents(terms, count_limit) if terms else {}
        weighed = [weigh_terms(words, counts, size.documents) for words in self.phrasings]
        weighed = [terms for terms in weighed if terms.sought]
        return SearchResult(
            hits=tuple(self._find_hits(weighed, limit)),
            missing_words=list_missing_words(self.words, counts),
            weights={term: weight for each in weighed for term, weight in each.sought.items()},
        )

    def _find_hits(self, weighed: list[QueryTerms], limit: int) -> list[SearchHit]:
        fused = fuse([self._rank(terms) for terms in weighed])
        fused.sort(key=lambda id: self.documents[id].is_template)
        return [self._build_hit(self.found[id]) for id in fused[:limit]]

    def _rank(self, terms: QueryTerms) -> list[int]:
        """Return the ids of the documents that fit these terms, best first.

        All that was found is ranked by what was looked for, the best of it then by the other terms
        and by more of its sections. So what stands at the end of a finder's list, where databases
        differ, does not come among the first.
        """
        document_ids, section_ids = self.finder.find_all(terms.sought)
        sections = load_sections(section_ids) if section_ids else []
        ids = {*document_ids, *(section.document_id for section in sections)}
        documents = self._load_documents(ids)
        ranking = Ranking(documents, self.means)
        ranking.add_sections([*sections, *map(_as_section, filter(_is_whole, documents))])
        ranking.add_terms(terms.sought)
        ranked = ranking.sort()
        best = ranked[:SHORTLIST]
        if len(sections) == MAX_CANDIDATES:
            best_ids = [each.document.id for each in best]
            found = self.finder.find(SECTIONS, terms.sought, best_ids)
            ranking.add_sections(load_sections({*found} - ranking.section_scores.keys()))
        ranking.narrow_down(best)
        ranking.add_terms(terms.others)
        ranked = [*ranking.sort(), *ranked[SHORTLIST:]]
        self._keep_best(ranked)
        return [each.document.id for each in ranked]

    def _load_documents(self, ids: set[int]) -> list[DocumentCandidate]:
        new = load_documents(ids - self.documents.keys())
        self.documents.update({document.id: document for document in new})
        return [self.documents[id] for id in ids]

    def _keep_best(self, ranked: list[RankedDocument]) -> None:
        for each in ranked:
            known = self.found.get(each.document.id)
            if known is None or known.score < each.score:
                self.found[each.document.id] = each

    def _build_hit(self, found: RankedDocument) -> SearchHit:
        document, section = found.document, found.section
        headings = section.heading_path.split("\n") if section and section.heading_path else []
        text = "".join(document.columns)
        words = (
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
            score=round(found.score, 3),
            words=tuple(dict.fromkeys(words)),
        )
