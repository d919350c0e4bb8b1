"""Rows and queries in PostgreSQL's own notation, so that no parser of its own reads the terms.

A vector holds each term once, with a label of where it stands and a number for each time: that is
what `ts_rank` counts. The scope stands among the terms, behind a sign that no term has.
"""

from collections import Counter
from collections.abc import Iterable

MAX_OCCURRENCES = 64
SCOPE_SIGN = "@"
_LABELS = ("A", "B", "C", "")


def build_vector(scope: str, *columns: str) -> str:
    """Return the tsvector of a row: its title, headings, extra and body, in this order."""
    occurrences: dict[str, list[str]] = {}
    for label, terms in zip(_LABELS, columns, strict=True):
        for term, count in Counter(terms.split()).items():
            known = occurrences.setdefault(term, [])
            first, room = len(known) + 1, MAX_OCCURRENCES - len(known)
            known += [f"{number}{label}" for number in range(first, first + min(count, room))]
    parts = [f"'{term}':{','.join(known)}" for term, known in occurrences.items()]
    return " ".join([f"'{SCOPE_SIGN}{scope}'", *parts])


def build_query(scopes: Iterable[str], terms: Iterable[str]) -> str:
    """Return the tsquery of rows in one of these scopes that have one of the terms."""
    scope = " | ".join(f"'{SCOPE_SIGN}{scope}'" for scope in scopes)
    words = " | ".join(f"'{term}'" for term in terms)
    return f"({scope}) & ({words})"
