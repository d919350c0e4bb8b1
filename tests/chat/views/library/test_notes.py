"""The page of a note, new notes, and changes of their text."""

import pytest

from agents.models import Note, NoteVersion
from agents.vault.note_writer import MAX_NOTE_BYTES
from agents.vault.notes import find_note
from chat.rendering import quota
from tests.chat.views.library.conftest import Shelf
from tests.support.dom import Dom
from tests.support.notes import add_note, add_notes
from tests.support.pages import Page, problems


def get_text(shelf: Shelf, path: str) -> str:
    note = find_note(shelf.project.pk, path)
    assert note is not None
    return note.text


def test_a_note_is_shown_with_where_it_lies(shelf: Shelf) -> None:
    html = shelf.ada.get(shelf.address("notes/plan/road%20map.md")).content.decode()
    assert problems(html) == []
    page = Page(html)
    assert page.text("h1") == "Road map"
    assert shelf.address("?folder=plan") in [a["href"] for a in page.all("a")]


def test_where_answers_cite_a_note_is_the_same_page(shelf: Shelf) -> None:
    cited = shelf.ada.get(f"/notes/{shelf.project.pk}/plan/road%20map.md").content.decode()
    shown = shelf.ada.get(shelf.address("notes/plan/road%20map.md")).content.decode()
    assert Page(cited).shape == Page(shown).shape
    assert "L3" in {e.id for e in Dom(cited).root.walk()}


def test_a_note_in_another_case_is_the_same(shelf: Shelf) -> None:
    assert shelf.ada.get(shelf.address("notes/HARBOUR.md")).status_code == 200


def test_a_change_is_saved_as_a_version_of_the_person(shelf: Shelf) -> None:
    there = shelf.address("edit/Harbour.md")
    html = shelf.ada.get(there).content.decode()
    assert problems(html) == []
    (version,) = (i["value"] for i in Page(html).all("input") if i.get("name") == "version")
    response = shelf.ada.post(there, {"text": "The quay is short.\r\n", "version": version})
    assert response["Location"] == shelf.address("notes/Harbour.md")
    assert get_text(shelf, "Harbour.md") == "The quay is short.\n"
    last = NoteVersion.objects.order_by("-pk")[0]
    assert (last.source, last.user and last.user.username) == ("person", "ada")


def test_a_change_of_two_at_once_loses_nothing(shelf: Shelf) -> None:
    add_note(shelf.project, "two.md", "one\ntwo\nthree\n")
    there = shelf.address("edit/two.md")
    shelf.ada.post(there, {"text": "ONE\r\ntwo\r\nthree\r\n", "version": "1"})
    response = shelf.ada.post(there, {"text": "one\r\ntwo\r\nTHREE\r\n", "version": "1"})
    html = response.content.decode()
    assert response.status_code == 409
    assert problems(html) == []
    assert get_text(shelf, "two.md") == "ONE\ntwo\nthree\n"
    assert "ONE\ntwo\nTHREE\n" in html
    assert "with both changes." in html
    (version,) = (i["value"] for i in Page(html).all("input") if i.get("name") == "version")
    shelf.ada.post(there, {"text": "ONE\ntwo\nTHREE\n", "version": version})
    assert get_text(shelf, "two.md") == "ONE\ntwo\nTHREE\n"


def test_where_both_changed_the_same_line_both_are_shown(shelf: Shelf) -> None:
    add_note(shelf.project, "two.md", "one\n")
    there = shelf.address("edit/two.md")
    shelf.ada.post(there, {"text": "theirs\n", "version": "1"})
    html = shelf.ada.post(there, {"text": "yours\n", "version": "1"}).content.decode()
    assert "&lt;&lt;&lt;&lt;&lt;&lt;&lt; yours\nyours\n=======\ntheirs\n" in html


@pytest.mark.parametrize("version", ["", "x", "0", "99", "-1"])
def test_a_form_without_its_version_overwrites_nothing(shelf: Shelf, version: str) -> None:
    sent = {"text": "gone", "version": version}
    assert shelf.ada.post(shelf.address("edit/Harbour.md"), sent).status_code == 409
    assert "The quay is long" in get_text(shelf, "Harbour.md")


def test_a_text_begins_as_it_did_when_it_is_edited(shelf: Shelf) -> None:
    """A browser drops the first line break after the tag of the field."""
    add_note(shelf.project, "blank.md", "\n\nx\n")
    html = shelf.ada.get(shelf.address("edit/blank.md")).content.decode()
    assert ">\n\n\nx\n</textarea>" in html


def test_a_text_that_is_too_long_stays_in_the_field(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agents.vault.note_writer.MAX_NOTE_BYTES", 10)
    response = shelf.ada.post(
        shelf.address("edit/Harbour.md"), {"text": "much too long for it", "version": "1"}
    )
    assert response.status_code == 422
    assert "much too long for it" in response.content.decode()


def test_a_new_note_lies_where_it_was_asked_for(shelf: Shelf) -> None:
    assert problems(shelf.ada.get(shelf.address("new/?folder=plan")).content.decode()) == []
    response = shelf.ada.post(shelf.address("new/"), {"path": "plan/next", "text": "a\r\nb"})
    assert response["Location"] == shelf.address("notes/plan/next.md")
    assert get_text(shelf, "plan/next.md") == "a\nb"


@pytest.mark.parametrize(
    "path", ["", "../x", "harbour", "a\0", "con", "x" * 600, ".hidden", "a//b"]
)
def test_a_note_that_cannot_be_there_is_refused_with_its_text(shelf: Shelf, path: str) -> None:
    response = shelf.ada.post(shelf.address("new/"), {"path": path, "text": "kept words"})
    assert response.status_code == 422
    html = response.content.decode()
    assert "kept words" in html
    assert problems(html) == []
    assert Note.objects.filter(project=shelf.project).count() == 2


def test_a_text_is_shown_before_it_is_saved(shelf: Shelf) -> None:
    html = shelf.ada.post(shelf.address("preview/"), {"text": "so *it* is"}).content.decode()
    assert "<em>it</em>" in html


def test_a_note_that_no_form_can_send_is_not_offered_to_be_edited(shelf: Shelf) -> None:
    add_note(shelf.project, "long.md", "words and words\n" * 60_000)
    response = shelf.ada.get(shelf.address("edit/long.md"))
    assert response.status_code == 400
    assert "too long to be edited here" in response.content.decode()


def test_who_opens_a_very_long_note_again_and_again_has_to_wait(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quota, "PER_SECOND", 0.001)
    add_note(shelf.project, "long.md", "a" * (MAX_NOTE_BYTES - 1) + "\n")
    there = shelf.address("notes/long.md")
    statuses = [shelf.ada.get(there).status_code for _ in range(30)]
    assert statuses[:20] == [200] * 20
    assert statuses[-1] == 429
    assert shelf.rea.get(there).status_code == 200


def test_a_note_that_many_link_to_says_how_many(shelf: Shelf) -> None:
    add_notes(shelf.project, **{f"n{number}": "[[Harbour]]" for number in range(1_100)})
    html = shelf.rea.get(shelf.address("notes/Harbour.md")).content.decode()
    assert problems(html) == []
    assert "1,101 notes in all" in html


def test_what_a_page_leaves_out_is_said(shelf: Shelf) -> None:
    text = "![[Harbour]] " * 201
    add_note(shelf.project, "many.md", text)
    html = shelf.rea.get(shelf.address("notes/many.md")).content.decode()
    assert problems(html) == []
    remark = "There are more than 200 embeds: the rest are text."
    assert remark in html
    shown = shelf.ada.post(shelf.address("preview/"), {"path": "x.md", "text": text}).content
    assert remark in shown.decode()
