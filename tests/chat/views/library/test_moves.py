"""Moving notes and folders."""

import pytest

from agents.vault.notes import find_note
from tests.chat.views.library.conftest import Shelf
from tests.support.notes import add_note
from tests.support.pages import problems


def test_a_moved_note_is_still_found_by_its_links(shelf: Shelf) -> None:
    assert problems(shelf.ada.get(shelf.address("move/Harbour.md")).content.decode()) == []
    response = shelf.ada.post(shelf.address("move/Harbour.md"), {"new_path": "sea/Port.md"})
    assert response["Location"] == shelf.address("notes/sea/Port.md")
    map_note = find_note(shelf.project.pk, "plan/road map.md")
    assert map_note is not None
    assert "[[Port]]" in map_note.text


def test_a_moved_folder_is_shown_where_it_is_now(shelf: Shelf) -> None:
    response = shelf.ada.post(shelf.address("move/plan"), {"new_path": "old plan"})
    assert response["Location"] == shelf.address("?folder=old+plan")
    assert find_note(shelf.project.pk, "old plan/road map.md")


@pytest.mark.parametrize("new_path", ["", "../x.md", "taken.md", "x.txt", "a\0.md"])
def test_what_cannot_be_moved_there_stays(shelf: Shelf, new_path: str) -> None:
    add_note(shelf.project, "taken.md", "x")
    response = shelf.ada.post(shelf.address("move/Harbour.md"), {"new_path": new_path})
    assert response.status_code == 422
    assert problems(response.content.decode()) == []
    assert find_note(shelf.project.pk, "Harbour.md")


def test_what_is_not_there_is_not_moved(shelf: Shelf) -> None:
    assert shelf.ada.post(shelf.address("move/no"), {"new_path": "x"}).status_code == 422
