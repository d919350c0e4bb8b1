"""Which terms of a query to look for, and how much each one counts."""

from collections import defaultdict

from agents.search.analysis import parse_query
from agents.search.code_analysis import parse_identifiers
from agents.search.query_terms import (
    FILLER_WEIGHT,
    MAX_SOUGHT_WORDS,
    PART_WEIGHT,
    UNKNOWN_PART_WEIGHT,
    compute_idf,
    list_missing_words,
    list_terms,
    weigh_terms,
)

TOTAL = 900


def count(**counts: int) -> defaultdict[str, int]:
    return defaultdict(int, counts)


def test_rare_words_weigh_more() -> None:
    terms = weigh_terms(parse_query("quay crane"), count(quai=2, cran=20), TOTAL)
    assert terms.sought["quai"] > terms.sought["cran"] > 0


def test_fillers_and_common_words_are_not_looked_for_but_count() -> None:
    counts = count(quai=2, harbour=500, the=890)
    terms = weigh_terms(parse_query("the harbour quay"), counts, TOTAL)
    assert terms.sought.keys() == {"quai"}
    assert terms.others == {
        "harbour": compute_idf(500, TOTAL),
        "the": FILLER_WEIGHT * compute_idf(890, TOTAL),
    }


def test_a_common_word_is_looked_for_where_nothing_else_is_left() -> None:
    terms = weigh_terms(parse_query("harbour money"), count(harbour=500), TOTAL)
    assert terms.sought.keys() == {"harbour"}


def test_only_the_rarest_words_are_looked_for() -> None:
    query = " ".join(f"word{number}" for number in range(20))
    counts = count(**{f"word{number}": 100 - number for number in range(20)})
    terms = weigh_terms(parse_query(query), counts, TOTAL)
    assert len(terms.sought) == MAX_SOUGHT_WORDS
    assert "word19" in terms.sought
    assert "word0" in terms.others


def test_a_common_beginning_is_looked_for_though_an_identifier_stands_behind_it() -> None:
    words = [*parse_query("read_gau", as_typed=True), *parse_identifiers("read_gau")]
    terms = weigh_terms(words, count(**{"gau*": 500}), TOTAL)
    assert terms.sought.keys() == {"gau*"}


def test_parts_of_an_unknown_word_are_looked_for() -> None:
    words = parse_query("Hafengebühren")
    terms = weigh_terms(words, count(haf=3, gebuhr=5), TOTAL)
    assert terms.sought == {
        "haf": UNKNOWN_PART_WEIGHT * compute_idf(3, TOTAL),
        "gebuhr": UNKNOWN_PART_WEIGHT * compute_idf(5, TOTAL),
    }
    assert list_missing_words(words, count(haf=3)) == ()
    assert list_missing_words(words, count()) == ("hafengebühren",)


def test_parts_of_a_known_word_only_count() -> None:
    words = parse_query("Hafengebühren")
    (term,) = words[0].terms
    terms = weigh_terms(words, count(**{term: 1, "haf": 3}), TOTAL)
    assert terms.sought.keys() == {term}
    assert terms.others == {"haf": PART_WEIGHT * compute_idf(3, TOTAL)}


def test_every_term_and_part_is_counted_once() -> None:
    terms = list_terms(parse_query("Hafengebühren Hafengebühr quay"))
    assert len(terms) == len({*terms})
    assert {"haf", "gebuhr", "quai"} <= {*terms}
