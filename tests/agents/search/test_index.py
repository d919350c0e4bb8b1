"""The index follows whatever is put in and taken out."""

import pytest
from django.db import transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.models import Project, SearchDocument, SearchSection
from agents.search.index import SearchableText, index_documents, remove_documents
from agents.search.search import SearchResult, search

from .conftest import IndexNotes, check_integrity

WORDS = ["quay", "crane", "permit", "Hafen", "東京", "the", "naïve"]
texts = st.lists(
    st.one_of(st.sampled_from(WORDS), st.sampled_from(["\n# Plan\n", "\n\n", "```\n", "_"])),
    max_size=12,
).map(" ".join)
changes = st.lists(
    st.tuples(st.integers(1, 6), st.sampled_from(WORDS), st.one_of(st.none(), texts)), max_size=25
)
"""Note, title and text; without a text the note goes."""


@pytest.mark.django_db
@settings(max_examples=25)
@given(changes=changes, size=st.integers(1, 5))
def test_any_history_leaves_what_a_new_index_would_hold(
    changes: list[tuple[int, str, str | None]], size: int
) -> None:
    with transaction.atomic():
        used, rebuilt = (Project.objects.create(name=name, slug=name) for name in ("a", "b"))
        notes: dict[int, SearchableText] = {}
        for start in range(0, len(changes), size):
            apply_changes(used, changes[start : start + size], notes)
        index_documents(rebuilt.pk, notes.values())
        check_integrity()
        for query in (["quay"], ["crane permit", "hafen"], ["東京 the"], ["naive plan"]):
            assert search_all(used, query) == search_all(rebuilt, query)
        transaction.set_rollback(True)


def test_the_index_of_a_project_goes_with_it(project: Project, index_notes: IndexNotes) -> None:
    index_notes(a="# Quay\ntext\n# Crane\ntext", b="quay")
    project.delete()
    check_integrity()
    assert not SearchDocument.objects.exists()
    assert not SearchSection.objects.exists()


def test_a_note_given_twice_is_in_the_index_once(project: Project) -> None:
    texts = [SearchableText("note", 1, "a.md", text=text) for text in ("old quay", "new quay")]
    index_documents(project.pk, texts)
    assert SearchSection.objects.count() == 1
    assert len(search_all(project, ["old"]).hits) == 0


def test_sections_that_stay_as_they_are_keep_their_rows(project: Project) -> None:
    def index(*parts: str) -> dict[str, int]:
        text = "".join(f"# {part}\n{part} text\n" for part in parts)
        index_documents(project.pk, [SearchableText("note", 1, "a.md", text=text)])
        check_integrity()
        return dict(SearchSection.objects.values_list("heading_path", "id"))

    before = index("Quay", "Crane", "Permit")
    changed = index("Quay", "Ferry", "Permit")
    assert changed["Quay"] == before["Quay"]
    assert changed["Permit"] == before["Permit"]
    assert changed["Ferry"] == before["Crane"]
    assert index("Quay") == {"Quay": before["Quay"]}
    assert len(index("Quay", "Mole", "Ferry", "Buoy")) == 4
    assert not search_all(project, ["crane"]).hits


@pytest.mark.ci
def test_a_note_of_two_megabytes_is_found_by_what_it_begins_and_ends_with(
    project: Project,
) -> None:
    words = "\n\n".join(f"word{number % 20_000} and more" for number in range(110_000))
    text = f"start {words} ending"
    assert len(text) > 2_000_000
    index_documents(project.pk, [SearchableText("note", 1, "a.md", text=text)])
    assert search_all(project, ["start"]).hits[0].first_line == 1
    assert search_all(project, ["ending"]).hits[0].last_line > 200_000
    check_integrity()


def apply_changes(
    project: Project,
    changes: list[tuple[int, str, str | None]],
    notes: dict[int, SearchableText],
) -> None:
    """Change the index of a project, and what it is to hold."""
    written: dict[int, SearchableText] = {}
    removed: set[int] = set()
    for number, title, text in changes:
        written.pop(number, None)
        removed.discard(number)
        if text is None:
            removed.add(number)
            notes.pop(number, None)
        else:
            written[number] = SearchableText("note", number, f"{number}.md", title, "", text)
            notes[number] = written[number]
    remove_documents(project.pk, "note", removed)
    index_documents(project.pk, written.values())


def search_all(project: Project, queries: list[str]) -> SearchResult:
    return search(project.pk, queries, limit=10)
