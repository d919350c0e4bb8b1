"""Rows and queries in PostgreSQL's own notation, so that no parser of its own reads the terms.

A vector holds each term once. Its label says how often it occurs, by the weights of the columns, in
four steps: `ts_rank` turns a label into a number, and so a query can compute BM25. The scope stands
among the terms, behind a sign that no term has.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from agents.search.analysis import PREFIX_SIGN

SCOPE_SIGN = "@"
_STEPS = (("A", 10.0), ("B", 4.0), ("C", 2.0), ("D", 0.0))
"""Labels, and from which weighted count on a term has them."""
LABEL_COUNTS = (1.0, 2.5, 6.0, 16.0)
"""What the labels D, C, B and A stand for."""
RANK_TO_COUNT = LABEL_COUNTS[-1] * 1.64493406685
"""`ts_rank` of one term divides by the second number; its weights may not be above 1."""
LABEL_WEIGHTS = tuple(count / LABEL_COUNTS[-1] for count in LABEL_COUNTS)


def build_vector(weights: Sequence[float], scope: str, *columns: str) -> str:
    """Return the tsvector of a row by the weights of its columns."""
    counts: dict[str, float] = {}
    for weight, terms in zip(weights, columns, strict=True):
        for term, count in Counter(terms.split()).items():
            counts[term] = counts.get(term, 0.0) + weight * count
    parts = [f"'{term}':1{_get_label(count)}" for term, count in counts.items()]
    return " ".join([f"'{SCOPE_SIGN}{scope}'", *parts])


def build_query(scopes: Iterable[str], terms: Iterable[str]) -> str:
    """Return the tsquery of rows in one of these scopes that have one of the terms."""
    scope = " | ".join(f"'{SCOPE_SIGN}{scope}'" for scope in scopes)
    return f"({scope}) & ({' | '.join(map(quote_term, terms))})"


def quote_term(term: str) -> str:
    """Return a term as a tsquery has it."""
    return f"'{term[:-1]}':*" if term.endswith(PREFIX_SIGN) else f"'{term}'"


def _get_label(count: float) -> str:
    return next(label for label, least in _STEPS if count >= least)
