"""Rows and queries in PostgreSQL's own notation."""

from agents.search.ranking import DOCUMENT_WEIGHTS
from agents.search.vectors import build_query, build_vector


def test_a_term_has_the_label_of_how_often_it_occurs() -> None:
    vector = build_vector(DOCUMENT_WEIGHTS, "s", " quai ", "", "", " quai quai cran haf haf ")
    assert vector == "'@s' 'quai':1A 'cran':1D 'haf':1C"


def test_a_query_is_bound_to_its_scopes() -> None:
    assert build_query(["s", "t"], ["quai", "cran"]) == "('@s' | '@t') & ('quai' | 'cran')"
