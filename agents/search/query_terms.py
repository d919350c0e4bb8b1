"""Which terms of a query to look for, and how much each one counts. No I/O.

Fillers and words that many documents have say little and cost most. They are not looked for where
others are left, but among the best that the others find they still count, by their rarity. A long
word also counts as the longest known words that it begins and ends with.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from agents.search.analysis import QueryWord

MAX_SOUGHT_WORDS = 12
MAX_COUNTED_WORDS = 12
FILLER_WEIGHT = 0.5
PART_WEIGHT, UNKNOWN_PART_WEIGHT = 0.2, 0.5
"""What a part counts for beside its word, and what it counts for where no document has the word."""
COMMON_SHARE = 1 / 3
MIN_COMMON = 50
"""A word that fewer documents have than this is never too common."""
MIN_COUNTED = 5_000
"""So many documents are counted exactly; beyond, it is enough to know that a word is common."""


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """The weights of terms: those to look for, and those that decide among the best found."""

    sought: Mapping[str, float]
    others: Mapping[str, float]


def compute_idf(count: int, total: int) -> float:
    """Return how much a term tells that `count` of `total` documents have."""
    return math.log(1 + (max(total, count) - count + 0.5) / (count + 0.5))


def get_common_count(total: int) -> int:
    """Return how many documents may have a word before it is too common."""
    return max(MIN_COMMON, int(total * COMMON_SHARE))


def get_count_limit(total: int) -> int:
    """Return up to which number documents have to be counted."""
    return max(MIN_COUNTED, get_common_count(total) + 1)


def list_terms(words: Iterable[QueryWord]) -> list[str]:
    """Return all terms that have to be counted, once each."""
    groups = (group for word in words for group in (word.terms, *word.part_lists))
    return list(dict.fromkeys(chain.from_iterable(groups)))


def weigh_terms(words: Sequence[QueryWord], counts: Mapping[str, int], total: int) -> QueryTerms:
    """Return the terms of a query by their weights; none to look for if the project has none."""
    common = get_common_count(total)
    known = _list_known([word for word in words if not word.is_filler], counts)
    fillers = _list_known([word for word in words if word.is_filler], counts)
    telling = [term for term in known if counts[term] <= common] or known
    sought = dict.fromkeys(telling[:MAX_SOUGHT_WORDS], 1.0)
    others = dict.fromkeys([*known, *fillers][: MAX_SOUGHT_WORDS + MAX_COUNTED_WORDS], 1.0)
    others |= dict.fromkeys(fillers, FILLER_WEIGHT)
    for word in words:
        parts = [part for part in _find_parts(word, counts) if counts[part] <= common]
        if _is_known(word, counts) and not word.is_unfinished:
            others = dict.fromkeys(parts, PART_WEIGHT) | others
        else:
            sought = dict.fromkeys(parts, UNKNOWN_PART_WEIGHT) | sought
    if not sought:  # whatever was typed so far is common
        sought = dict.fromkeys((part for word in words for part in _find_parts(word, counts)), 1.0)
    return QueryTerms(
        {term: weight * compute_idf(counts[term], total) for term, weight in sought.items()},
        {
            term: weight * compute_idf(counts[term], total)
            for term, weight in others.items()
            if term not in sought
        },
    )


def list_missing_words(words: Iterable[QueryWord], counts: Mapping[str, int]) -> tuple[str, ...]:
    """Return the words, as they were written, of which the project has nothing."""
    missing = [
        word.written
        for word in words
        if not word.is_filler and not _is_known(word, counts) and not _find_parts(word, counts)
    ]
    return tuple(dict.fromkeys(missing))


def _is_known(word: QueryWord, counts: Mapping[str, int]) -> bool:
    return any(counts[term] for term in word.terms)


def _list_known(words: Iterable[QueryWord], counts: Mapping[str, int]) -> list[str]:
    """Return the terms that some document has, rarest first."""
    terms = dict.fromkeys(term for word in words for term in word.terms if counts[term])
    return sorted(terms, key=lambda term: counts[term])


def _find_parts(word: QueryWord, counts: Mapping[str, int]) -> list[str]:
    """Return the longest known beginning and the longest known end of a word."""
    firsts = (next((part for part in parts if counts[part]), "") for parts in word.part_lists)
    return list(dict.fromkeys(filter(None, firsts)))
