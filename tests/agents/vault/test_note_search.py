"""Search over the notes of a project."""

import pytest

from agents.models import Project
from agents.vault import notes
from agents.vault.author import Author
from agents.vault.errors import NoteRefused
from agents.vault.note_search import search_notes


@pytest.fixture
def harbour(project: Project, author: Author) -> Project:
    texts = {
        "Plan/Quay.md": "---\ntags: [works/quay]\n---\n# Quay\n\n## Permits\n\nThe licence is due.",
        "plan/Crane.md": "A crane without a licence. #cranes",
    }
    for path, text in texts.items():
        notes.create_note(project.pk, path, text, author)
    return project


def list_paths(project: Project, *queries: str, folder: str = "", tag: str = "") -> list[str]:
    found = search_notes(project.pk, queries, limit=5, folder=folder, tag=tag)
    return [hit.path for hit in found.hits]


def test_a_hit_shows_its_line_and_headings(harbour: Project) -> None:
    hit = search_notes(harbour.pk, ["licences of the quay"], limit=5).hits[0]
    assert (hit.path, hit.heading) == ("Plan/Quay.md", "Permits")
    assert (hit.line, hit.snippet) == (8, "The licence is due.")


def test_a_folder_in_any_case_restricts_a_search(harbour: Project) -> None:
    assert {*list_paths(harbour, "licence", folder="PLAN/")} == {"Plan/Quay.md", "plan/Crane.md"}
    assert list_paths(harbour, "licence", folder="elsewhere") == []


@pytest.mark.parametrize("tag", ["works", "#works/quay", "Works"])
def test_a_tag_stands_for_those_below_it(harbour: Project, tag: str) -> None:
    assert list_paths(harbour, "licence", tag=tag) == ["Plan/Quay.md"]


def test_notes_in_the_trash_are_not_found(harbour: Project, author: Author) -> None:
    notes.delete_note(harbour.pk, "plan/Crane.md", author)
    assert list_paths(harbour, "crane") == []


def test_too_many_queries_are_refused_in_words(harbour: Project) -> None:
    with pytest.raises(NoteRefused, match="1 to 4 queries"):
        list_paths(harbour, *["quay"] * 5)


def test_words_that_no_note_has_are_named(harbour: Project) -> None:
    assert search_notes(harbour.pk, ["money"], limit=5).missing_words == ("money",)


@pytest.mark.parametrize(
    ("below", "shown", "line"),
    [
        ("", "", 3),
        ("A tide is high.", "A tide is high.", 4),
        ("The moon.", "url: https://example.org/tides", 2),
    ],
)
def test_properties_are_shown_only_where_nothing_else_has_the_words(
    project: Project, author: Author, below: str, shown: str, line: int
) -> None:
    properties = "tags: [a]" if not below else "url: https://example.org/tides"
    notes.create_note(project.pk, "Tides.md", f"---\n{properties}\n---\n{below}", author)
    (hit,) = search_notes(project.pk, ["tides"], limit=5).hits
    assert (hit.snippet, hit.line) == (shown, line)


def test_a_note_found_by_its_title_shows_its_text_and_not_its_properties(
    project: Project, author: Author
) -> None:
    text = "---\ntags: [a]\n---\n# Tides\n\nThe moon.\n\nA tide is high, and much more is said."
    notes.create_note(project.pk, "Tides.md", text, author)
    (hit,) = search_notes(project.pk, ["tides"], limit=5).hits
    assert hit.snippet == "A tide is high, and much more is said."
