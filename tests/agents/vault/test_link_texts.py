"""Notes are found by what links call them."""

import pytest

from agents.models import Project
from agents.vault import link_texts, note_writer, notes
from agents.vault.author import Author
from agents.vault.moves import move_note
from agents.vault.note_search import search_notes
from agents.vault.parsing import ParsedNote, parse_note

TARGET = "Works/Quay.md"


@pytest.fixture
def quay(project: Project, author: Author) -> Project:
    notes.create_note(project.pk, TARGET, "---\naliases: [Pier]\n---\nStones and water.", author)
    return project


def list_paths(project: Project, query: str) -> list[str]:
    return [hit.path for hit in search_notes(project.pk, [query], limit=5).hits]


@pytest.mark.parametrize(
    "link",
    [
        "[[Quay|landing stage]]",
        "[[works/quay#Stones|landing stage]]",
        "[[Pier|landing stage]]",
        "[landing stage](../Works/Quay.md)",
    ],
)
def test_a_note_is_found_by_the_text_of_a_link_to_it(
    quay: Project, author: Author, link: str
) -> None:
    notes.create_note(quay.pk, "plan/Ships.md", f"See {link}.", author)
    assert {*list_paths(quay, "landing stage")} == {TARGET, "plan/Ships.md"}


def test_a_note_that_is_created_later_is_found_by_its_links(
    project: Project, author: Author
) -> None:
    notes.create_note(project.pk, "Ships.md", "See [[Quay|landing stage]].", author)
    notes.create_note(project.pk, TARGET, "Stones and water.", author)
    assert TARGET in list_paths(project, "landing stage")


def test_a_text_that_no_link_has_any_more_finds_nothing(quay: Project, author: Author) -> None:
    for name in ("One.md", "Two.md"):
        notes.create_note(quay.pk, name, "See [[Quay|landing stage]].", author)
    notes.save_note(quay.pk, "One.md", "See [[Quay|the wall]].", author)
    assert {*list_paths(quay, "landing")} == {TARGET, "Two.md"}
    assert TARGET in list_paths(quay, "wall")
    notes.delete_note(quay.pk, "Two.md", author)
    assert list_paths(quay, "landing") == []


def test_a_save_keeps_what_links_call_a_note(quay: Project, author: Author) -> None:
    notes.create_note(quay.pk, "Ships.md", "See [[Quay|landing stage]].", author)
    notes.save_note(quay.pk, TARGET, "Stones alone.", author)
    assert TARGET in list_paths(quay, "landing")


def test_a_moved_note_keeps_what_links_call_it(quay: Project, author: Author) -> None:
    notes.create_note(quay.pk, "Ships.md", "See [[Quay|landing stage]].", author)
    move_note(quay.pk, TARGET, "Old/Wall.md", author)
    assert {*list_paths(quay, "landing")} == {"Old/Wall.md", "Ships.md"}


def test_a_link_with_a_path_names_no_note_elsewhere(quay: Project, author: Author) -> None:
    notes.create_note(quay.pk, "Other/Quay.md", "Sand.", author)
    notes.create_note(quay.pk, "Ships.md", "See [[Works/Quay|landing stage]].", author)
    assert {*list_paths(quay, "landing")} == {TARGET, "Ships.md"}


def test_a_link_with_a_path_writes_no_note_of_that_name_elsewhere(
    quay: Project, author: Author, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many notes may have one name, such as README."""
    notes.create_note(quay.pk, "Other/Quay.md", "Sand.", author)
    read: list[str] = []

    def parse(path: str, text: str) -> ParsedNote:
        read.append(path)
        return parse_note(path, text)

    monkeypatch.setattr(note_writer, "parse_note", parse)
    notes.create_note(quay.pk, "Ships.md", "See [[Works/Quay|landing stage]].", author)
    assert read == ["Ships.md", TARGET]
    notes.save_note(quay.pk, "Ships.md", "See [[Quay|landing stage]].", author)
    assert {*list_paths(quay, "landing")} == {TARGET, "Other/Quay.md", "Ships.md"}


def test_a_text_for_very_many_notes_of_one_name_writes_none_of_them(
    quay: Project, author: Author, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_texts, "MAX_NAMESAKES", 1)
    notes.create_note(quay.pk, "Other/Quay.md", "Sand.", author)
    notes.create_note(quay.pk, "Ships.md", "See [[Quay|landing stage]].", author)
    assert list_paths(quay, "landing") == ["Ships.md"]
    notes.save_note(quay.pk, "Other/Quay.md", "Sand and stones.", author)
    assert {*list_paths(quay, "landing")} == {"Other/Quay.md", "Ships.md"}


@pytest.mark.parametrize("link", ["![[Quay|300]]", "![300](Works/Quay.md)", "`[[Quay|300]]`"])
def test_sizes_of_embeds_and_code_call_nothing(quay: Project, author: Author, link: str) -> None:
    notes.create_note(quay.pk, "Ships.md", f"See {link}.", author)
    assert TARGET not in list_paths(quay, "300")
