"""What is deleted, and how it comes back."""

from agents.models import Attachment, Note
from agents.vault.attachments import add_attachment
from tests.chat.factories import Talk, browser
from tests.chat.views.library.conftest import Shelf
from tests.support.notes import add_note
from tests.support.pages import Page, problems


def test_a_deleted_note_lies_in_the_trash_until_it_is_restored(shelf: Shelf) -> None:
    response = shelf.ada.post(shelf.address("delete/Harbour.md"), {"version": "1"})
    html = shelf.ada.get(response["Location"]).content.decode()
    assert problems(html) == []
    assert shelf.ada.get(shelf.address("notes/Harbour.md")).status_code == 404
    (there,) = (f["action"] for f in Page(html).all("form") if "/trash/" in f.get("action", ""))
    shelf.ada.post(there)
    assert shelf.ada.get(shelf.address("notes/Harbour.md")).status_code == 200


def test_a_note_whose_path_is_taken_stays_in_the_trash(shelf: Shelf) -> None:
    shelf.ada.post(shelf.address("delete/Harbour.md"), {"version": "1"})
    add_note(shelf.project, "harbour.md", "another")
    gone = Note.objects.get(project=shelf.project, deleted_at__isnull=False)
    response = shelf.ada.post(shelf.address(f"trash/{gone.pk}/"))
    assert response["Location"] == shelf.address("trash/")
    gone.refresh_from_db()
    assert gone.deleted_at is not None


def test_a_note_of_another_project_is_not_restored(shelf: Shelf) -> None:
    talk = Talk(name="bob")
    note = add_note(talk.project, "x.md", "x")
    browser(talk.user).post(f"/library/{talk.project.slug}/delete/x.md", {"version": "1"})
    assert shelf.ada.post(shelf.address(f"trash/{note.pk}/")).status_code == 404


def test_a_deleted_file_lies_in_the_trash_until_it_is_restored(shelf: Shelf) -> None:
    response = shelf.ada.post(shelf.address("delete-file/plan.pdf"))
    html = shelf.ada.get(response["Location"]).content.decode()
    assert problems(html) == []
    assert shelf.ada.get(shelf.address("files/plan.pdf")).status_code == 404
    (there,) = (f["action"] for f in Page(html).all("form") if "/trash/" in f.get("action", ""))
    shelf.ada.post(there)
    assert shelf.ada.get(shelf.address("files/plan.pdf")).status_code == 200


def test_a_file_whose_path_is_taken_stays_in_the_trash(shelf: Shelf) -> None:
    shelf.ada.post(shelf.address("delete-file/plan.pdf"))
    gone = Attachment.objects.get(project=shelf.project)
    add_attachment(shelf.project.pk, "Plan.pdf", [b"another"])
    shelf.ada.post(shelf.address(f"trash/files/{gone.pk}/"))
    gone.refresh_from_db()
    assert gone.deleted_at is not None
    assert shelf.ada.post(shelf.address("trash/files/999/")).status_code == 404
