"""Files of a project: shown, uploaded, downloaded."""

import io
import json
import os
import zipfile
from collections.abc import AsyncIterable
from typing import Any, cast
from uuid import uuid4

import pytest
from asgiref.sync import async_to_sync
from django.core.files.uploadedfile import SimpleUploadedFile

from agents.models import Attachment, Note
from agents.vault.attachments import add_attachment
from agents.vault.errors import NoteRefused
from agents.vault.importer import ImportReport
from agents.vault.notes import find_note
from chat.library import upload_pieces, uploads
from chat.library.upload_pieces import take_upload
from chat.views.library import files as file_views
from tests.chat.views.library.conftest import Shelf
from tests.support.pages import problems

JSON = {"Accept": "application/json"}


def read(response: Any) -> bytes:
    async def collect() -> bytes:
        return b"".join([part async for part in cast(AsyncIterable[bytes], response)])

    return async_to_sync(collect)()


def make_zip(**files: str) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return written.getvalue()


def send(shelf: Shelf, files: dict[str, bytes], **values: Any) -> Any:
    given = [SimpleUploadedFile(path.rpartition("/")[2], data) for path, data in files.items()]
    paths = json.dumps(list(files))
    sent = {"files": given, "paths": paths, **values}
    return shelf.ada.post(shelf.address("upload/"), sent, headers=JSON)


# -- shown ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind", "is_download"),
    [
        ("a.png", "image/png", False),
        ("a.jpg", "image/jpeg", False),
        ("a.svg", "image/svg+xml", True),
        ("a.html", "application/octet-stream", True),
        ("a.js", "application/octet-stream", True),
        ("a.pdf", "application/octet-stream", True),
        ("a.xml", "application/octet-stream", True),
    ],
)
def test_only_pictures_are_shown_by_themselves(
    shelf: Shelf, name: str, kind: str, is_download: bool
) -> None:
    add_attachment(shelf.project.pk, name, [b"<script>alert(1)</script>"])
    response = shelf.rea.get(shelf.address(f"files/{name}"))
    assert response["Content-Type"] == kind
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response.headers.get("Content-Disposition", "").startswith("attachment") == is_download
    assert read(response) == b"<script>alert(1)</script>"


def test_a_note_is_downloaded_changed_and_uploaded_as_a_version(shelf: Shelf) -> None:
    send(shelf, {"long/n.md": b"\xef\xbb\xbfone\r\n" * 3})
    got = shelf.ada.get(shelf.address("raw/long/n.md"))
    assert got["Content-Disposition"] == 'attachment; filename="n.md"'
    assert got.content == b"\xef\xbb\xbfone\r\n" * 3
    send(shelf, {"n.md": got.content + b"two"}, folder="long")
    note = find_note(shelf.project.pk, "long/n.md")
    assert note is not None
    assert (note.version, note.text[-3:]) == (2, "two")


def test_a_file_that_is_not_there_is_not_found(shelf: Shelf) -> None:
    assert shelf.ada.get(shelf.address("files/no.png")).status_code == 404
    assert shelf.ada.get(shelf.address("files/Harbour.md")).status_code == 404


# -- uploaded -------------------------------------------------------------------------------------


def test_files_keep_their_folders(shelf: Shelf) -> None:
    sent = {"a/b.md": b"one", "pic.png": b"\x89PNG", "a/bad.md": b"\xff\xfe"}
    report = send(shelf, sent, folder="in").json()
    assert (report["created"], report["attachments"]) == (1, 2)
    assert [file["path"] for file in report["kept_as_files"]] == ["in/a/bad.md"]
    assert find_note(shelf.project.pk, "in/a/b.md")
    assert Attachment.objects.filter(project=shelf.project, path="in/pic.png").exists()
    assert send(shelf, sent, folder="in").json()["unchanged"] == 3


def test_a_zip_is_unpacked(shelf: Shelf) -> None:
    data = make_zip(**{"vault/a.md": "A", "vault/.obsidian/x": "", "vault/sub/b.md": "B"})
    report = send(shelf, {"vault.zip": data}).json()
    assert report["created"] == 2
    assert [file["why"] for file in report["skipped"]] == ["hidden"]
    assert find_note(shelf.project.pk, "sub/b.md")


def test_what_cannot_be_imported_is_named_with_the_reason(shelf: Shelf) -> None:
    climbing = make_zip(**{"../../x.md": "x", "ok.md": "x"})
    report = send(shelf, {"x.zip": climbing, "y.zip": b"no zip", "../z.md": b"z", ".h.md": b"h"})
    skipped = {file["path"]: file["why"] for file in report.json()["skipped"]}
    assert set(skipped) == {"../../x.md", "y.zip", "../z.md", ".h.md"}
    assert "is not a zip" in skipped["y.zip"]
    assert find_note(shelf.project.pk, "ok.md")


@pytest.mark.parametrize("paths", ["{}", "[", "[1]", "[]", '["a.md", "b.md"]', "[" * 100_000])
def test_files_without_their_paths_are_refused(shelf: Shelf, paths: str) -> None:
    response = send(shelf, {"a.md": b"x"}, paths=paths)
    assert response.status_code == 400
    assert "error" in response.json()


def test_a_folder_outside_of_the_project_is_refused(shelf: Shelf) -> None:
    response = send(shelf, {"a.md": b"x"}, folder="../up")
    assert response.status_code == 400
    assert Note.objects.filter(project=shelf.project).count() == 2


def test_a_form_works_without_a_script(shelf: Shelf) -> None:
    assert problems(shelf.ada.get(shelf.address("upload/")).content.decode()) == []
    files = [SimpleUploadedFile("n.md", b"x"), SimpleUploadedFile(".x", b"x")]
    response = shelf.ada.post(shelf.address("upload/"), {"files": files})
    html = response.content.decode()
    assert problems(html) == []
    assert "1 new note" in html
    assert "hidden" in html


def send_piece(shelf: Shelf, data: bytes, **values: Any) -> Any:
    sent = {"piece": SimpleUploadedFile("blob", data), "path": "big.zip", **values}
    return shelf.ada.post(shelf.address("upload/piece/"), sent)


def test_a_large_file_comes_in_pieces(shelf: Shelf) -> None:
    data, key = make_zip(**{"a.md": "words " * 50}), uuid4().hex
    assert send_piece(shelf, data[:40], id=key, offset=0, last="no").json() == {"size": 40}
    report = send_piece(shelf, data[40:], id=key, offset=40, last="yes").json()
    assert report["created"] == 1
    assert list(upload_pieces._get_folder().iterdir()) == []


def test_of_two_last_pieces_at_once_one_is_refused(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = uuid4().hex
    others: list[Any] = []

    def import_dropped(*args: Any) -> ImportReport:
        """While it is imported, the last piece arrives once more, at its right place."""
        if not others:
            others.append(send_piece(shelf, b"", id=key, offset=len(data), last="yes"))
        return uploads.import_dropped(*args)

    data = make_zip(**{"a.md": "words"})
    monkeypatch.setattr(file_views, "import_dropped", import_dropped)
    report = send_piece(shelf, data, id=key, offset=0, last="yes").json()
    assert report["created"] == 1
    assert [other.status_code for other in others] == [400]
    assert list(upload_pieces._get_folder().iterdir()) == []


def test_an_upload_that_gave_way_is_refused() -> None:
    with pytest.raises(NoteRefused, match="Upload it again"):
        take_upload(1, uuid4()).__enter__()


@pytest.mark.parametrize(
    "values",
    [{"id": "x"}, {"offset": 3}, {"id": "../../etc"}, {"offset": "x", "id": ""}],
)
def test_a_piece_of_nothing_is_refused(shelf: Shelf, values: dict[str, Any]) -> None:
    response = send_piece(shelf, b"x", **{"id": uuid4().hex, "offset": 0, "last": "no", **values})
    assert response.status_code == 400
    assert response.json()["error"]


def test_nobody_fills_the_disk_with_pieces(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload_pieces, "MAX_UPLOAD_BYTES", 10)
    key = uuid4().hex
    assert send_piece(shelf, b"x" * 11, id=key, offset=0, last="no").status_code == 400
    for _ in range(10):
        send_piece(shelf, b"x", id=uuid4().hex, offset=0, last="no")
    assert len(list(upload_pieces._get_folder().iterdir())) <= upload_pieces.MAX_OPEN_UPLOADS


def test_what_a_server_that_died_has_left_is_removed(shelf: Shelf) -> None:
    left = [upload_pieces._get_folder() / name for name in ("1-a.taken", "import-b")]
    left[0].write_bytes(b"x")
    (left[1] / "inside").mkdir(parents=True)
    for place in left:
        os.utime(place, (0, 0))
    assert send_piece(shelf, b"x", id=uuid4().hex, offset=0, last="no").status_code == 200
    assert not any(place.exists() for place in left)


# -- downloaded -----------------------------------------------------------------------------------


def test_what_was_uploaded_is_downloaded_byte_for_byte(shelf: Shelf) -> None:
    response = shelf.rea.get(shelf.address("download/"))
    assert response["Content-Type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(read(response))) as archive:
        assert archive.testzip() is None
        assert archive.read("Harbour.md") == b"The quay is long. #water\n"
        assert archive.read("plan.pdf") == b"%PDF"
        assert len(archive.namelist()) == 3
