"""Who can open and who can change what, for every address of the library."""

import pytest
from django.utils import timezone

from agents.models import Note, NoteVersion, Project, Thread, ThreadEntry
from agents.vault.author import Author
from agents.vault.threads import NewEntry, push_entry
from chat.views.library.urls import urlpatterns
from tests.chat.factories import browser
from tests.chat.views.library.conftest import Shelf
from tests.support.code import add_gauge
from tests.support.pages import Page

READ = {
    "library": "",
    "library-search": "search/?q=quay",
    "library-note": "notes/Harbour.md",
    "library-note-download": "raw/Harbour.md",
    "library-history": "history/Harbour.md",
    "library-version": "versions/1/Harbour.md",
    "library-trash": "trash/",
    "library-tags": "tags/",
    "library-file": "files/plan.pdf",
    "library-download": "download/",
    "library-threads": "threads/",
    "library-thread": "threads/power/",
    "library-code": "code/",
    "library-code-file": "code/files/src/gauge.py",
    "library-code-symbol": "code/names/?name=read",
    "library-code-map": "code/map/",
}
WRITE = {
    "library-new": "new/",
    "library-edit": "edit/Harbour.md",
    "library-preview": "preview/",
    "library-move": "move/Harbour.md",
    "library-delete": "delete/Harbour.md",
    "library-restore": "restore/1/Harbour.md",
    "library-undelete": "trash/1/",
    "library-delete-file": "delete-file/plan.pdf",
    "library-undelete-file": "trash/files/1/",
    "library-new-thread": "new-thread/",
    "library-push": "threads/power/push/",
    "library-thread-status": "threads/power/status/",
    "library-withdraw": "threads/power/withdraw/1/",
    "library-upload": "upload/",
    "library-upload-piece": "upload/piece/",
    "library-code-upload": "code/upload/",
    "library-code-upload-piece": "code/upload/piece/",
    "library-code-remove": "code/checkouts/1/remove/",
}
OTHER = {"library-home", "library-code-progress", "library-code-checkout"}
"""The last two are asked for by ids, in `test_code_uploads.py`."""


@pytest.fixture(autouse=True)
def entry(shelf: Shelf) -> ThreadEntry:
    add_gauge(shelf.project)
    return push_entry(shelf.project.pk, "power", NewEntry("quay"), Author.importer())


def count_rows() -> tuple[int, ...]:
    standing = ThreadEntry.objects.filter(withdrawn_at__isnull=True)
    active = Thread.objects.filter(status=Thread.Status.ACTIVE)
    notes = Note.objects.filter(deleted_at__isnull=True)
    return notes.count(), NoteVersion.objects.count(), standing.count(), active.count()


def test_every_address_is_classified() -> None:
    assert {pattern.name for pattern in urlpatterns} == READ.keys() | WRITE.keys() | OTHER


@pytest.mark.parametrize("name", sorted(READ | WRITE))
def test_whoever_is_not_signed_in_is_asked_to(shelf: Shelf, name: str) -> None:
    there = shelf.address((READ | WRITE)[name])
    for response in (browser().get(there), browser().post(there)):
        assert response.status_code in (302, 405)


@pytest.mark.parametrize("name", sorted(READ | WRITE))
def test_a_stranger_is_told_that_there_is_nothing(shelf: Shelf, name: str) -> None:
    there, before = shelf.address((READ | WRITE)[name]), count_rows()
    for response in (shelf.eve.get(there), shelf.eve.post(there)):
        assert response.status_code in (404, 405)
        assert "quay" not in response.content.decode()
    assert count_rows() == before


@pytest.mark.parametrize("name", sorted(READ))
def test_a_reader_sees_it(shelf: Shelf, name: str) -> None:
    assert shelf.rea.get(shelf.address(READ[name])).status_code == 200


@pytest.mark.parametrize("name", sorted(WRITE))
def test_a_reader_cannot_change_anything_and_is_told_why(shelf: Shelf, name: str) -> None:
    before = count_rows()
    given = {"path": "x", "text": "x", "version": "1"}
    response = shelf.rea.post(shelf.address(WRITE[name]), given)
    assert response.status_code == 403
    assert "reader of this project" in response.content.decode()
    assert count_rows() == before


@pytest.mark.parametrize("name", sorted(WRITE))
def test_nothing_can_be_changed_in_an_archived_project(shelf: Shelf, name: str) -> None:
    Project.objects.filter(pk=shelf.project.pk).update(archived_at=timezone.now())
    response = shelf.ada.post(shelf.address(WRITE[name]), {"path": "x", "text": "x"})
    assert response.status_code == 403
    assert "archived" in response.content.decode()


FILES = {"library-file", "library-download", "library-note-download"}


@pytest.mark.parametrize("name", sorted(READ.keys() - FILES))
def test_an_archived_project_and_a_reader_have_no_buttons(shelf: Shelf, name: str) -> None:
    ways = [shelf.address(rest.partition("/")[0]) + "/" for rest in WRITE.values()]
    seen = [shelf.address(rest) for rest in ("trash/", "threads/", "code/")]  # they may be
    ways = [way for way in ways if way not in seen]
    ways += [shelf.address(f"threads/power/{do}/") for do in ("push", "status", "withdraw")]
    ways += [shelf.address("code/upload/")]

    def offers(html: str) -> list[str]:
        page = Page(html)
        links = [a.get("href", "") for a in page.all("a")]
        links += [form.get("action", "") for form in page.all("form")]
        return [link for link in links if link.startswith(tuple(ways))]

    there = shelf.address(READ[name])
    assert offers(shelf.ada.get(there).content.decode())
    assert offers(shelf.rea.get(there).content.decode()) == []
    Project.objects.filter(pk=shelf.project.pk).update(archived_at=timezone.now())
    assert offers(shelf.ada.get(there).content.decode()) == []
