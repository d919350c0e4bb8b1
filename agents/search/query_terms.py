"""Which terms of a query to look for, and how much each one counts. No I/O.

Words that many documents have say little and cost most, so they are dropped where others are left.
A long word also counts as the longest known words that it begins and ends with.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from agents.search.analysis import QueryWord
from agents.search.ranking import compute_idf

MAX_WORDS = 12
PART_WEIGHT = 0.2
"""What a part of a word counts for, beside the word itself."""
COMMON_SHARE = 1 / 3
MIN_COMMON = 50
"""A word that fewer documents have than this is never too common."""


def get_common_count(total: int) -> int:
    """Return how many documents may have a word before it is too common."""
    return max(MIN_COMMON, int(total * COMMON_SHARE))


def list_terms(words: Iterable[QueryWord]) -> list[str]:
    """Return all terms that have to be counted, once each."""
    groups = (group for word in words for group in (word.terms, *word.part_lists))
    return list(dict.fromkeys(chain.from_iterable(groups)))


def weigh_terms(
    words: Sequence[QueryWord], counts: Mapping[str, int], total: int
) -> dict[str, float]:
    """Return the weight of each term to look for; empty if the project has none of them."""
    found = dict.fromkeys(term for word in words for term in word.terms if counts[term])
    parts = dict.fromkeys(part for word in words for part in _find_parts(word, counts))
    common = get_common_count(total)
    telling = [term for term in found if counts[term] <= common] or list(found)
    telling_parts = [part for part in parts if part not in found and counts[part] <= common]
    weights = {
        term: compute_idf(counts[term], total)
        for term in sorted(telling, key=lambda term: counts[term])[:MAX_WORDS]
    }
    for part in telling_parts[:MAX_WORDS]:
        weights[part] = PART_WEIGHT * compute_idf(counts[part], total)
    return weights


def list_missing_words(words: Iterable[QueryWord], counts: Mapping[str, int]) -> tuple[str, ...]:
    """Return the words, as they were written, of which the project has nothing."""
    missing = [
        word.written
        for word in words
        if not any(counts[term] for term in word.terms) and not _find_parts(word, counts)
    ]
    return tuple(dict.fromkeys(missing))


def _find_parts(word: QueryWord, counts: Mapping[str, int]) -> list[str]:
    """Return the longest known beginning and the longest known end of a word."""
    firsts = (next((part for part in parts if counts[part]), "") for parts in word.part_lists)
    return list(dict.fromkeys(filter(None, firsts)))
