"""The pages of folders."""

import pytest

from agents.models import Attachment, Note, Project
from agents.vault.attachments import add_attachment
from chat.views.library import folders
from tests.chat.factories import browser, member
from tests.chat.views.library.conftest import Shelf
from tests.support.notes import add_notes
from tests.support.pages import Page, problems


def test_the_library_begins_in_the_project_one_works_in(shelf: Shelf) -> None:
    assert shelf.ada.get("/library/")["Location"] == shelf.address()


def test_who_is_in_no_project_is_led_to_where_one_is_made(shelf: Shelf) -> None:
    user, project = member("nobody")
    project.delete()
    assert browser(user).get("/library/")["Location"] == "/projects/"


def test_a_folder_lists_what_lies_directly_in_it(shelf: Shelf) -> None:
    html = shelf.ada.get(shelf.address()).content.decode()
    assert problems(html) == []
    links = [a["href"] for a in Page(html).all("a")]
    assert shelf.address("?folder=plan") in links
    assert shelf.address("notes/Harbour.md") in links
    assert shelf.address("notes/plan/road%20map.md") not in links
    inner = shelf.ada.get(shelf.address("?folder=plan")).content.decode()
    assert shelf.address("notes/plan/road%20map.md") in [a["href"] for a in Page(inner).all("a")]


def test_a_folder_without_notes_says_how_many_files_it_has(shelf: Shelf) -> None:
    for name in ("a.png", "deep/b.png"):
        add_attachment(shelf.project.pk, f"Pictures/{name}", [b"x"])
    html = shelf.ada.get(shelf.address()).content.decode()
    assert "2 files" in html
    assert "0 notes" not in html


@pytest.mark.parametrize("page", ["1", "2", "99", "x", "-1", ""])
def test_many_notes_are_shown_a_page_at_a_time(
    shelf: Shelf, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "PAGE_SIZE", 10)
    add_notes(shelf.project, **{f"n{number:03}": "" for number in range(25)})
    html = shelf.ada.get(shelf.address(), {"page": page}).content.decode()
    assert problems(html) == []
    assert 0 < html.count("/notes/n") <= 10 + folders.RECENT_COUNT


def test_the_page_of_a_folder_leads_to_the_next_of_the_same_folder(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "PAGE_SIZE", 2)
    add_notes(shelf.project, **{f"a b/n{number:03}": "" for number in range(5)})
    html = shelf.ada.get(shelf.address("?folder=a+b")).content.decode()
    assert [a["href"] for a in Page(html).all("a") if a.get("rel") == "next"] == [
        "?folder=a%20b&page=2"
    ]


def test_what_changed_last_is_named_first(shelf: Shelf) -> None:
    add_notes(shelf.project, **{f"n{number}": f"# Number {number}\n" for number in range(10)})
    assert "Recently changed" in shelf.ada.get(shelf.address()).content.decode()


def test_an_empty_project_says_how_to_begin(shelf: Shelf) -> None:
    Note.objects.filter(project=shelf.project).delete()
    Attachment.objects.filter(project=shelf.project).delete()
    assert "New note" in Page(shelf.ada.get(shelf.address()).content.decode()).text("a")
    read = shelf.rea.get(shelf.address()).content.decode()
    assert "no notes in this project yet" in read
    assert shelf.address("new/") not in read


@pytest.mark.parametrize("folder", ["../x", "/etc", "a\0b", "%2e%2e/x", "nothing", "x" * 3_000])
def test_what_is_no_folder_is_refused_or_empty(shelf: Shelf, folder: str) -> None:
    response = shelf.ada.get(shelf.address(), {"folder": folder})
    assert response.status_code in (200, 400)
    assert problems(response.content.decode()) == []


def test_the_library_of_a_renamed_project_stays_where_it_was(shelf: Shelf) -> None:
    Project.objects.filter(pk=shelf.project.pk).update(name="Other")
    assert shelf.ada.get(shelf.address()).status_code == 200
