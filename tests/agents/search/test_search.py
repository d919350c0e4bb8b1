"""Search in a project: what is found, where, and in which order."""

from typing import Any

import pytest
from django.db import connection

from agents.models import Project, SearchDocument, SearchSection
from agents.search.finders import DOCUMENTS, MAX_CANDIDATES, SECTIONS, Place, PostgresqlFinder
from agents.search.index import SearchableText, get_scope, index_documents, remove_documents
from agents.search.search import SearchRefused, search

from .conftest import IndexNotes


def list_paths(project: Project, *queries: str, **options: object) -> list[str]:
    return [hit.path for hit in search(project.id, queries, **options).hits]  # type: ignore[arg-type]  # as given


def test_a_hit_names_its_place(project: Project, index_notes: IndexNotes) -> None:
    index_notes(
        plan="# Plan\nnothing\n## Permits\nThe quay needs a licence.\n## Later\nmore",
        other="Ships and cranes",
    )
    (hit,) = search(project.id, ["licences for quays"]).hits
    assert (hit.path, hit.heading_path) == ("plan.md", ("Plan", "Permits"))
    assert (hit.first_line, hit.last_line) == (3, 4)
    assert 0 < hit.score <= 1
    assert hit.words == ("licences", "quays")


def test_words_that_no_note_has_are_named(project: Project, index_notes: IndexNotes) -> None:
    index_notes(plan="The quay")
    assert search(project.id, ["Money for the quay"]).missing_words == ("money",)


def test_a_title_counts_more_than_a_mention(project: Project, index_notes: IndexNotes) -> None:
    index_notes(a="a crane, and more of the port here", Cranes="what lifts things in the port here")
    assert list_paths(project, "crane") == ["Cranes.md", "a.md"]


def test_several_phrasings_find_what_each_one_finds(
    project: Project, index_notes: IndexNotes
) -> None:
    index_notes(a="refund policy", b="money matters", c="refund of money")
    assert list_paths(project, "refund", "money")[0] == "c.md"
    assert {*list_paths(project, "refund policy", "nothing")} == {"a.md", "c.md"}


@pytest.mark.parametrize("number", [0, 5])
def test_no_query_and_five_are_refused(project: Project, number: int) -> None:
    with pytest.raises(SearchRefused, match="1 to 4"):
        search(project.id, ["quay"] * number)


def test_another_project_is_never_found(project: Project, index_notes: IndexNotes) -> None:
    other = Project.objects.create(name="Other")
    scope = get_scope(project.id, "note")
    index_notes(quay="the quay")
    text = f"the quay {scope} @{scope} scope:{scope}"
    index_documents(other.id, [SearchableText("note", 7, "spy.md", scope, scope, text)])
    assert list_paths(project, "quay") == ["quay.md"]
    assert list_paths(project, scope) == []
    assert list_paths(other, scope) == ["spy.md"]


def test_templates_come_last(project: Project) -> None:
    texts = [
        SearchableText("note", 1, "Templates/Book.md", "Book", text="book book", is_template=True),
        SearchableText("note", 2, "Shelf.md", "Shelf", text="one book among many other things"),
    ]
    index_documents(project.id, texts)
    assert list_paths(project, "book") == ["Shelf.md", "Templates/Book.md"]


def test_chosen_notes_restrict_a_search(project: Project, index_notes: IndexNotes) -> None:
    index_notes(a="quay", b="quay", c="quay")
    assert {*list_paths(project, "quay", source_ids=[1, 3, 99])} == {"a.md", "c.md"}
    assert list_paths(project, "quay", source_ids=[]) == []


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("私は東京都に住んでいます", "東京"),
        ("机器学习的方法", "学习"),
        ("서울에서 만나요", "서울"),
        ("ภาษาไทยง่าย", "ไทย"),
        ("Die Gebühren im Hafen", "Hafengebühren"),
        ("Cafe\u0301", "café"),
    ],
)
def test_words_are_found_in_any_script(
    project: Project, index_notes: IndexNotes, text: str, query: str
) -> None:
    index_notes(hit=text, miss="something else")
    assert list_paths(project, query) == ["hit.md"]


def test_a_changed_note_is_found_by_its_new_words_alone(
    project: Project, index_notes: IndexNotes
) -> None:
    index_notes(note="old words")
    index_notes(note="new text")
    assert list_paths(project, "old") == []
    assert list_paths(project, "new") == ["note.md"]


def test_a_removed_note_is_not_found(project: Project, index_notes: IndexNotes) -> None:
    index_notes(a="quay", b="quay")
    remove_documents(project.id, "note", [1, 99])
    assert list_paths(project, "quay") == ["b.md"]


def test_a_note_without_text_is_found_by_its_name(
    project: Project, index_notes: IndexNotes
) -> None:
    index_notes(quay="")
    (hit,) = search(project.id, ["quay"]).hits
    assert (hit.first_line, hit.last_line) == (1, 1)


def test_a_common_word_is_dropped_where_another_is_left(
    project: Project, index_notes: IndexNotes
) -> None:
    index_notes(**{f"n{number}": "harbour" for number in range(120)}, rare="quay")
    assert list_paths(project, "harbour quay", limit=20) == ["rare.md"]
    assert len(list_paths(project, "harbour", limit=20)) == 20


def test_an_entry_needs_no_row_of_a_section_and_ranks_as_a_note_of_one_section(
    project: Project,
) -> None:
    text = "The tide is high.\n\nThe quay is long."
    for kind in ("thread", "note"):
        index_documents(project.pk, [SearchableText(kind, 1, "harbour", "harbour", text=text)])
    documents = SearchDocument.objects.order_by("kind").values_list("kind", "section_count")
    assert list(documents) == [("note", 1), ("thread", 1)]
    assert SearchSection.objects.count() == 1
    note, thread = (
        search(project.pk, ["quay"], kinds=[kind]).hits[0] for kind in ("note", "thread")
    )
    assert note.score == thread.score
    assert thread.first_line == 1
    assert thread.last_line >= 3


@pytest.mark.parametrize("typed", ["har", "harbo", "old harbou", "harbours", "Hárb"])
def test_the_word_that_is_being_typed_may_be_the_beginning_of_one(
    project: Project, index_notes: IndexNotes, typed: str
) -> None:
    index_notes(a="The harbour", b="A harp", c="Ships")
    found = list_paths(project, typed, as_typed=True)
    assert found[0] == "a.md" or typed == "har"
    assert {"a.md"} <= {*found} <= {"a.md", "b.md"}
    assert search(project.id, [typed], as_typed=True).missing_words in ((), ("old",))


@pytest.mark.parametrize("typed", ["land", "landi", "landin", "landing", "landings"])
def test_a_word_is_found_at_every_letter_of_its_ending(
    project: Project, index_notes: IndexNotes, typed: str
) -> None:
    index_notes(a="Landing stages", b="Ships")
    assert list_paths(project, typed, as_typed=True) == ["a.md"]


def test_a_whole_word_comes_before_longer_ones(project: Project, index_notes: IndexNotes) -> None:
    index_notes(a="a portfolio of ships", b="a port of ships")
    assert list_paths(project, "port", as_typed=True) == ["b.md", "a.md"]
    assert list_paths(project, "port") == ["b.md"]


def test_words_before_the_last_are_whole(project: Project, index_notes: IndexNotes) -> None:
    index_notes(a="The harbour", b="Ships")
    found = search(project.id, ["harb ship"], as_typed=True)
    assert [hit.path for hit in found.hits] == ["b.md"]
    assert found.missing_words == ("harb",)


def test_a_beginning_that_most_notes_have_is_looked_for_if_nothing_else_is(
    project: Project, index_notes: IndexNotes
) -> None:
    index_notes(**{f"note{number}": "the harbour" for number in range(60)})
    assert len(list_paths(project, "harb", as_typed=True, limit=20)) == 20


def test_a_compound_is_split_while_it_is_typed(project: Project, index_notes: IndexNotes) -> None:
    index_notes(a="Gebühren im Hafen", b="Schiffe")
    assert list_paths(project, "Hafengebühren", as_typed=True) == ["a.md"]


def count_matched(plan: dict[str, Any]) -> int:
    """Return how often a plan looked at a section."""
    seen = plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)
    own = plan["Actual Loops"] * seen if plan.get("Relation Name") == SECTIONS else 0
    return int(own) + sum(count_matched(part) for part in plan.get("Plans", ()))


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite shows no such plan")
def test_chosen_documents_are_looked_through_once_while_tables_are_believed_empty(
    project: Project,
) -> None:
    """As they are when PostgreSQL counts their rows in the middle of their first import."""
    parts = "\n".join(f"# part {number}" for number in range(8))
    texts = [SearchableText("note", number, f"{number}.md", text=parts) for number in range(200)]
    index_documents(project.pk, texts)
    place = Place((get_scope(project.pk, "note"),), source_ids=range(200))
    chosen = list(SearchDocument.objects.values_list("pk", flat=True)[:30])
    built = PostgresqlFinder(place)._build_statement(SECTIONS, {"part": 1.0}, chosen)
    with connection.cursor() as cursor:
        cursor.execute(*built)
        assert len(cursor.fetchall()) == MAX_CANDIDATES
        believe = "UPDATE pg_class SET reltuples = 0, relpages = 100 WHERE relname = ANY(%s)"
        cursor.execute(believe, [[DOCUMENTS, SECTIONS]])
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {built[0]}", built[1])
        ((plan,),) = cursor.fetchall()
    assert count_matched(plan[0]["Plan"]) <= SearchSection.objects.count()
