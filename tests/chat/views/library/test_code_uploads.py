"""Code that people bring in, and take away again."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from resource import RLIMIT_FSIZE, getrlimit, setrlimit
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection

from agents.code.service import CodeRefused
from agents.models import CodeCheckout, CodeFile, SearchDocument
from chat.library.code_uploads import store_upload
from tests.chat.views.library.conftest import Shelf
from tests.support.code import add_checkout, add_code, make_zip
from tests.support.pages import problems

FILES = {"gauge-main/src/gauge.py": "def read():\n    return 1\n", "gauge-main/logo.png": "\x89"}


def send_form(shelf: Shelf, data: bytes, **given: str) -> Any:
    sent = SimpleUploadedFile("gauge-main.zip", data)
    return shelf.ada.post(shelf.address("code/upload/"), {"files": sent, **given})


def send_piece(shelf: Shelf, data: bytes, **given: str) -> Any:
    values = {"id": str(uuid4()), "offset": "0", "last": "yes", "path": "gauge-main.zip", **given}
    piece = SimpleUploadedFile("piece", data)
    return shelf.ada.post(shelf.address("code/upload/piece/"), {**values, "piece": piece})


def list_paths(shelf: Shelf) -> list[str]:
    return list(CodeFile.objects.filter(project=shelf.project).values_list("path", flat=True))


def test_a_zip_becomes_code_and_its_report_is_shown(shelf: Shelf) -> None:
    response = send_form(shelf, make_zip(FILES), folder="tools")
    assert list_paths(shelf) == ["tools/logo.png", "tools/src/gauge.py"]
    checkout = CodeCheckout.objects.get(project=shelf.project)
    assert (checkout.folder, checkout.origin) == ("tools", "gauge-main")
    assert response["Location"] == shelf.address(f"code/checkouts/{checkout.pk}/")
    html = shelf.rea.get(response["Location"]).content.decode()
    assert problems(html) == []
    assert "2 new files, 0 changed" in html
    assert "logo.png" in html
    assert "Remove" not in html


def test_large_zips_come_in_pieces(shelf: Shelf) -> None:
    data, upload = make_zip(FILES), str(uuid4())
    first = send_piece(shelf, data[:50], id=upload, last="no")
    assert first.json() == {"size": 50}
    last = send_piece(shelf, data[50:], id=upload, offset="50")
    assert last.json()["report"].startswith(shelf.address("code/checkouts/"))
    assert list_paths(shelf) == ["logo.png", "src/gauge.py"]
    progress = shelf.ada.get(shelf.address("code/upload/progress/"), {"id": upload}).json()
    assert progress == {"done": 2, "total": 2}


def test_the_same_folder_uploaded_again_is_replaced(shelf: Shelf) -> None:
    send_form(shelf, make_zip(FILES))
    send_form(shelf, make_zip({"src/new.py": "x = 1\n"}))
    assert list_paths(shelf) == ["src/new.py"]
    assert CodeCheckout.objects.count() == 1


@pytest.mark.parametrize(
    "data", [b"", b"no zip", make_zip(FILES)[:60]], ids=["empty", "text", "cut"]
)
def test_what_is_no_zip_is_refused_in_words(shelf: Shelf, data: bytes) -> None:
    response = send_form(shelf, data)
    assert response.status_code == 422
    html = response.content.decode()
    assert problems(html) == []
    assert 'role="alert"' in html
    assert "error" in send_piece(shelf, data).json()
    assert list_paths(shelf) == []


@contextmanager
def without_room() -> Iterator[None]:
    """No file of this process can grow beyond a few bytes, as on a full disk."""
    before = getrlimit(RLIMIT_FSIZE)
    setrlimit(RLIMIT_FSIZE, (1_000, before[1]))
    try:
        yield
    finally:
        setrlimit(RLIMIT_FSIZE, before)


def test_a_full_disk_is_said_and_nothing_is_left_on_it(shelf: Shelf) -> None:
    data = make_zip({"a.py": "".join(f"x{number} = {number**9}\n" for number in range(3_000))})
    page = shelf.ada.get(shelf.address("code/upload/"))
    with without_room():
        response = send_form(shelf, data)
    assert (page.status_code, response.status_code) == (200, 422)
    html = response.content.decode()
    assert problems(html) == []
    assert "The server cannot store it (File too large). Upload it again later." in html
    assert list((settings.DATA_DIR / "uploads").iterdir()) == []


def test_where_no_upload_can_be_unpacked_it_is_said(shelf: Shelf) -> None:
    (settings.DATA_DIR / "uploads").write_text("a file in the way")
    response = send_form(shelf, make_zip(FILES))
    assert response.status_code == 422
    html = response.content.decode()
    assert "The server cannot store it (File exists). Upload it again later." in html


def test_a_disk_that_gives_no_reason_is_said_without_one(shelf: Shelf) -> None:
    class Torn(BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise OSError(*reason)

    reason: tuple[str, ...] = ()
    with pytest.raises(CodeRefused, match=r"^The server cannot store it. Upload it again later.$"):
        store_upload(shelf.owner.pk, Torn())
    reason = ("it is torn",)
    with pytest.raises(CodeRefused, match=r"^The server cannot store it \(it is torn\)\. "):
        store_upload(shelf.owner.pk, Torn())


@pytest.mark.skipif(connection.vendor != "sqlite", reason="the trigger is written for SQLite")
def test_a_database_that_takes_no_more_is_said(shelf: Shelf) -> None:
    def refuse() -> None:
        raise OSError

    connection.connection.create_function("refuse", 0, refuse)
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TEMP TRIGGER full BEFORE INSERT ON agents_codefile BEGIN SELECT refuse(); END"
        )
        try:
            response = send_form(shelf, make_zip(FILES))
        finally:
            cursor.execute("DROP TRIGGER full")
    assert response.status_code == 422
    html = response.content.decode()
    assert "The server cannot store it. Files imported so far are kept; upload it again" in html
    assert "user-defined function" not in html


def test_a_form_without_a_file_says_so(shelf: Shelf) -> None:
    response = shelf.ada.post(shelf.address("code/upload/"), {"folder": ""})
    assert response.status_code == 422
    assert "Choose a zip first." in response.content.decode()


@pytest.mark.parametrize("given", [{"id": "x"}, {"offset": "7"}, {"folder": "../x"}])
def test_a_piece_of_nothing_is_refused(shelf: Shelf, given: dict[str, str]) -> None:
    assert send_piece(shelf, make_zip(FILES), **given).status_code == 400
    assert list_paths(shelf) == []


def test_nobody_sees_how_far_the_upload_of_another_is(shelf: Shelf) -> None:
    upload = str(uuid4())
    send_piece(shelf, make_zip(FILES), id=upload)
    assert shelf.rea.get(shelf.address("code/upload/progress/"), {"id": upload}).status_code == 403
    assert shelf.ada.get(shelf.address("code/upload/progress/"), {"id": "x"}).status_code == 400


def test_readers_bring_and_remove_nothing(shelf: Shelf) -> None:
    checkout = add_checkout(shelf.project)
    add_code(shelf.project, "a.py")
    assert shelf.rea.get(shelf.address("code/upload/")).status_code == 403
    gone = shelf.rea.post(shelf.address(f"code/checkouts/{checkout.pk}/remove/"))
    assert gone.status_code == 403
    assert list_paths(shelf) == ["a.py"]


def test_a_checkout_is_removed_with_its_files_and_out_of_the_search(shelf: Shelf) -> None:
    outer, inner = add_checkout(shelf.project, "src"), add_checkout(shelf.project, "src/lib")
    for path in ("src/a.py", "src/lib/b.py", "src0.py"):
        add_code(shelf.project, path, "quartz = 1\n")
    response = shelf.ada.post(shelf.address(f"code/checkouts/{outer.pk}/remove/"), follow=True)
    assert "1 file." in response.content.decode()
    assert list_paths(shelf) == ["src/lib/b.py", "src0.py"]
    assert list(CodeCheckout.objects.all()) == [inner]
    assert SearchDocument.objects.filter(kind="code").count() == 2
    assert shelf.ada.get(shelf.address(f"code/checkouts/{outer.pk}/")).status_code == 404


def test_a_checkout_of_another_project_is_not_there(shelf: Shelf) -> None:
    checkout = add_checkout(shelf.project)
    other = shelf.eve.get(f"/library/{'eve'}/code/checkouts/{checkout.pk}/")
    assert other.status_code == 404
    assert shelf.eve.get(shelf.address(f"code/checkouts/{checkout.pk}/")).status_code == 404


def test_a_checkout_that_was_not_read_to_its_end_says_so(shelf: Shelf) -> None:
    checkout = add_checkout(shelf.project)
    html = shelf.ada.get(shelf.address(f"code/checkouts/{checkout.pk}/")).content.decode()
    assert problems(html) == []
    assert "The import did not finish" in html


@pytest.mark.parametrize(
    "name", ["\N{SHIP}" * 100, "ä" * 200, "." * 300], ids=["ships", "letters", "dots"]
)
def test_a_name_may_be_longer_than_a_disk_takes(shelf: Shelf, name: str) -> None:
    response = send_piece(shelf, make_zip(FILES), path=f"{name}.zip")
    assert "report" in response.json()
    assert list((settings.DATA_DIR / "uploads").iterdir()) == []
