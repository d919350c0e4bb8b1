"""One BM25 for all databases: candidates are ordered by their terms alone. No I/O.

A document's score is that of its whole text and that of its best section, added; the section counts
a little more, for it is what a reader will see. Where a term stands counts by the weight of its
column.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

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


def compute_idf(count: int, total: int) -> float:
    """Return how much a term tells that `count` of `total` documents have."""
    return math.log(1 + (max(total, count) - count + 0.5) / (count + 0.5))


def score_rows(
    rows: Iterable[Candidate],
    weights: Mapping[str, float],
    column_weights: Sequence[float],
    mean_length: float,
) -> dict[int, float]:
    """Return the BM25 of each row by its id."""
    terms = [(f" {term} ", weight) for term, weight in weights.items()]
    scores = {}
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
        scores[row.id] = score
    return scores


def compute_best_score(weights: Mapping[str, float]) -> float:
    """Return what no document and its section can exceed together."""
    return (1 + SECTION_SHARE) * (K1 + 1) * sum(weights.values())
