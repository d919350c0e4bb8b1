"""One BM25 for all databases."""

from agents.search.analysis import analyse, count_terms
from agents.search.ranking import DocumentCandidate, MeanLengths, Ranking, SectionCandidate

MEANS = MeanLengths(10.0, 5.0)
WEIGHTS = {"quai": 2.0, "cran": 1.0}


def build_document(id: int, title: str = "", body: str = "") -> DocumentCandidate:
    columns = (analyse(title), "", "", analyse(body))
    length = count_terms(columns[-1])
    return DocumentCandidate(id, length, columns, "note", id, f"{id}.md", title, is_template=False)


def build_section(id: int, document_id: int, body: str, first_line: int = 1) -> SectionCandidate:
    columns = ("", "", "", analyse(body))
    return SectionCandidate(id, count_terms(columns[-1]), columns, document_id, "", first_line, 9)


def rank(*documents: DocumentCandidate, sections: tuple[SectionCandidate, ...] = ()) -> Ranking:
    ranking = Ranking(documents, MEANS)
    ranking.add_sections(sections)
    ranking.add_terms(WEIGHTS)
    return ranking


def list_ids(ranking: Ranking) -> list[int]:
    return [each.document.id for each in ranking.sort()]


def test_a_title_counts_more_than_a_body() -> None:
    assert list_ids(rank(build_document(1, body="quay"), build_document(2, "Quay"))) == [2, 1]


def test_a_short_text_counts_more_than_a_long_one() -> None:
    long = build_document(1, body="quay " + "word " * 50)
    assert list_ids(rank(long, build_document(2, body="quay"))) == [2, 1]


def test_the_best_section_counts_too() -> None:
    same = [build_document(id, body="quay and crane") for id in (1, 2)]
    sections = (build_section(1, 2, "nothing"), build_section(2, 2, "quay crane", 5))
    found = rank(*same, sections=sections).sort()
    assert [each.document.id for each in found] == [2, 1]
    assert found[0].section == sections[1]
    assert found[1].section is None
    assert 1 >= found[0].score > found[1].score > 0


def test_of_equal_sections_the_first_is_the_place() -> None:
    sections = (build_section(1, 1, "quay", 7), build_section(2, 1, "quay", 3))
    found = rank(build_document(1, body="quay"), sections=sections).sort()
    assert found[0].section == sections[1]


def test_sections_that_come_later_count_the_same() -> None:
    document, section = build_document(1, body="quay"), build_section(1, 1, "quay")
    late = rank(document)
    late.add_sections([section])
    late.add_sections([section])
    assert late.sort() == rank(document, sections=(section,)).sort()


def test_equal_documents_are_ordered_by_path() -> None:
    assert list_ids(rank(build_document(2, body="quay"), build_document(1, body="quay"))) == [1, 2]


def test_what_is_narrowed_down_goes_on_alone() -> None:
    ranking = rank(build_document(1, "Quay"), build_document(2, body="quay"))
    ranking.narrow_down(ranking.sort()[:1])
    assert list_ids(ranking) == [1]
