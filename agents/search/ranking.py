"""One BM25 for all databases: candidates are ordered by their terms alone. No I/O.

A document's score is that of its whole text and that of its best section, added; the section counts
a little more, for it is what a reader will see. Where a term stands counts by the weight of its
column.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agents.search.analysis import get_pattern

K1, B = 1.2, 0.75
DOCUMENT_WEIGHTS = (8.0, 4.0, 3.0, 1.0)
SECTION_WEIGHTS = (4.0, 3.0, 2.0, 1.0)
SECTION_SHARE = 1.25


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row that a finder found: its terms by column (title, headings, extra, body)."""

    id: int
    length: int
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DocumentCandidate(Candidate):
    kind: str
    source_id: int
    path: str
    title: str
    is_template: bool


@dataclass(frozen=True, slots=True)
class SectionCandidate(Candidate):
    document_id: int
    heading_path: str
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class MeanLengths:
    """How long the documents and the sections of a project are on average."""

    documents: float
    sections: float


@dataclass(frozen=True, slots=True)
class RankedDocument:
    """A document, its best section if one was found, and its score from 0 to 1."""

    document: DocumentCandidate
    section: SectionCandidate | None
    score: float


class Ranking:
    """Candidates with scores that grow with the terms that are added."""

    def __init__(self, documents: Sequence[DocumentCandidate], means: MeanLengths) -> None:
        self.documents, self.means = documents, means
        self.sections: list[SectionCandidate] = []
        self.document_scores = dict.fromkeys((each.id for each in documents), 0.0)
        self.section_scores: dict[int, float] = {}
        self.weights: dict[str, float] = {}

    def add_terms(self, weights: Mapping[str, float]) -> None:
        self.weights |= weights
        self._score_sections(self.sections, weights)
        _add_scores(
            self.document_scores, self.documents, weights, DOCUMENT_WEIGHTS, self.means.documents
        )

    def add_sections(self, sections: Iterable[SectionCandidate]) -> None:
        """Let sections count too; their documents are among the candidates."""
        new = [section for section in sections if section.id not in self.section_scores]
        self.sections += new
        self.section_scores.update(dict.fromkeys((section.id for section in new), 0.0))
        self._score_sections(new, self.weights)

    def narrow_down(self, ranked: Iterable[RankedDocument]) -> None:
        """Go on with some documents alone."""
        self.documents = [each.document for each in ranked]
        ids = {document.id for document in self.documents}
        self.sections = [section for section in self.sections if section.document_id in ids]

    def _score_sections(
        self, sections: Iterable[SectionCandidate], weights: Mapping[str, float]
    ) -> None:
        _add_scores(self.section_scores, sections, weights, SECTION_WEIGHTS, self.means.sections)

    def sort(self) -> list[RankedDocument]:
        """Return the documents, best first; equal ones by their paths."""
        best = self._find_best_sections()
        best_score = (1 + SECTION_SHARE) * (K1 + 1) * sum(self.weights.values())
        ranked = []
        for document in self.documents:
            section = best.get(document.id)
            score = self.document_scores[document.id]
            if section is not None:
                score += SECTION_SHARE * self.section_scores[section.id]
            ranked.append(RankedDocument(document, section, min(1.0, score / best_score)))
        return sorted(ranked, key=lambda each: (-each.score, each.document.path))

    def _find_best_sections(self) -> dict[int, SectionCandidate]:
        """Return the best section of each document; of equal ones, the first."""
        best: dict[int, SectionCandidate] = {}
        scores = self.section_scores
        for section in self.sections:
            known = best.get(section.document_id)
            if known is None or (scores[section.id], known.first_line) > (
                scores[known.id],
                section.first_line,
            ):
                best[section.document_id] = section
        return best


def _add_scores(
    scores: dict[int, float],
    rows: Iterable[Candidate],
    weights: Mapping[str, float],
    column_weights: Sequence[float],
    mean_length: float,
) -> None:
    """Add the BM25 of these terms to the score of each row."""
    terms = [(get_pattern(term), weight) for term, weight in weights.items()]
    for row in rows:
        norm = K1 * (1 - B + B * row.length / mean_length) if mean_length else K1
        columns = [(t, w) for t, w in zip(row.columns, column_weights, strict=True) if t]
        score = 0.0
        for term, weight in terms:
            often = 0.0
            for text, column_weight in columns:
                often += column_weight * text.count(term)
            if often:
                score += weight * often * (K1 + 1) / (often + norm)
        scores[row.id] += score
