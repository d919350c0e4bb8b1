"""The history of notes."""

import pytest
from django.contrib.auth.models import User

from agents.models import AgentRun, Note
from agents.vault.author import Author
from agents.vault.notes import find_note, save_note
from chat.library.note_history import describe_versions
from tests.chat.factories import Talk
from tests.chat.views.library.conftest import Shelf
from tests.support.notes import add_note
from tests.support.pages import Page, problems


def edit(shelf: Shelf, text: str) -> Note:
    user = User.objects.get(username="ada")
    return save_note(shelf.project.pk, "Harbour.md", text, Author.person(user.pk))


def test_the_history_says_who_made_each_version(shelf: Shelf) -> None:
    edit(shelf, "The quay is short.\n")
    html = shelf.rea.get(shelf.address("history/Harbour.md")).content.decode()
    assert problems(html) == []
    said = Page(html).text()
    assert "Edited by ada" in said
    assert "Created by an import" in said


def test_a_version_shows_the_words_that_it_changed(shelf: Shelf) -> None:
    edit(shelf, "The quay is short. #water\n")
    html = shelf.rea.get(shelf.address("versions/2/Harbour.md")).content.decode()
    assert problems(html) == []
    assert Page(html).text("mark") == "long short"
    since = shelf.rea.get(shelf.address("versions/1/Harbour.md?to=now")).content.decode()
    assert Page(since).text("mark") == "long short"


def test_an_earlier_version_comes_back_as_a_new_one(shelf: Shelf) -> None:
    edit(shelf, "Gone.\n")
    shelf.ada.post(shelf.address("restore/1/Harbour.md"), {"version": "2"})
    note = find_note(shelf.project.pk, "Harbour.md")
    assert note is not None
    assert (note.version, note.text) == (3, "The quay is long. #water\n")


@pytest.mark.parametrize("version", ["", "1"])
def test_nothing_is_restored_over_a_change_that_was_not_seen(shelf: Shelf, version: str) -> None:
    edit(shelf, "Newer.\n")
    shelf.ada.post(shelf.address("restore/1/Harbour.md"), {"version": version})
    shelf.ada.post(shelf.address("delete/Harbour.md"), {"version": version})
    note = find_note(shelf.project.pk, "Harbour.md")
    assert note is not None
    assert note.text == "Newer.\n"


def test_a_version_that_is_not_there_is_not_found(shelf: Shelf) -> None:
    assert shelf.ada.get(shelf.address("versions/9/Harbour.md")).status_code == 404
    assert shelf.ada.get(shelf.address("versions/0/Harbour.md")).status_code == 404
    assert shelf.ada.get(shelf.address(f"versions/{10**25}/Harbour.md")).status_code == 404


def test_only_whoever_asked_is_led_to_the_conversation_of_a_run(shelf: Shelf) -> None:
    talk = Talk(name="bob")
    note = add_note(talk.project, "x.md", "x")
    run = AgentRun.objects.get(pk=talk.first.run_id)
    save_note(talk.project.pk, "x.md", "y", Author.run(run.pk, talk.user.pk))
    versions = list(note.versions.order_by("-number"))
    own = describe_versions(versions, 2, talk.user)
    others = describe_versions(versions, 2, User.objects.get(username="ada"))
    assert [entry.run_id for entry in own] == [run.pk, None]
    assert [entry.run_id for entry in others] == [None, None]
    assert own[0].who == "by the agent, asked by bob"
