"""Bringing notes in: nothing is lost, nothing is overwritten, everything left out is said."""

import hashlib
import io
import os
import stat
import tarfile
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, OperationalError, connection

from agents.models import Attachment, Membership, Note, NoteVersion, Project, Thread
from agents.vault import attachments, importer, note_writer, notes
from agents.vault.attachments import get_file, remove_unreferenced_files
from agents.vault.author import Author
from agents.vault.errors import NoteUnavailable
from agents.vault.exporter import export_project
from agents.vault.import_sources import FilesSource, FolderSource, open_source
from agents.vault.importer import ImportReport, ImportStopped, import_files
from agents.vault.note_writer import MAX_NOTE_BYTES

KEPANO = Path(__file__).resolve().parents[4] / "shared" / "retrieval" / "kepano-vault.tar.gz"
THREAD = b"""---
oracle-thread: "power"
status: active
---

<!-- entry 1 thought 2026-01-01T00:00:00+00:00 1 lines -->
LFP.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    (root / "plan").mkdir(parents=True)
    (root / "plan" / "Road map.md").write_bytes(b"\xef\xbb\xbf# Road\r\nmap\r\n")
    (root / "empty.md").write_bytes(b"")
    (root / "pic.png").write_bytes(b"\x89PNG\0\1\2")
    return root


def bring_in(project: Project, place: Path) -> ImportReport:
    with open_source(place) as source:
        return import_files(project.pk, source, Author.importer())


def files(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def left_out(report: ImportReport) -> dict[str, str]:
    return {skipped.path: skipped.why for skipped in report.skipped}


def test_an_untouched_import_is_exported_byte_for_byte(
    project: Project, folder: Path, tmp_path: Path
) -> None:
    report = bring_in(project, folder)
    assert (report.created, report.attachments, report.skipped) == (2, 1, [])
    assert export_project(project.pk, tmp_path / "out") == 3
    assert files(tmp_path / "out") == files(folder)


def test_importing_twice_changes_nothing(project: Project, folder: Path) -> None:
    bring_in(project, folder)
    before = list(Note.objects.values_list("pk", "version", "updated_at"))
    report = bring_in(project, folder)
    assert (report.created, report.updated, report.attachments) == (0, 0, 0)
    assert report.unchanged == 3
    assert list(Note.objects.values_list("pk", "version", "updated_at")) == before
    assert NoteVersion.objects.count() == 2


def test_what_changed_in_the_folder_becomes_a_version(project: Project, folder: Path) -> None:
    bring_in(project, folder)
    (folder / "empty.md").write_text("no more")
    (folder / "pic.png").write_bytes(b"another")
    report = bring_in(project, folder)
    assert (report.created, report.updated, report.attachments) == (0, 1, 1)
    note = notes.get_note(project.pk, "empty.md")
    assert (note.text, note.version) == ("no more", 2)
    assert Attachment.objects.filter(deleted_at__isnull=True).get().size == 7
    assert Attachment.objects.count() == 2


def test_what_changed_here_is_not_overwritten(
    project: Project, author: Author, folder: Path
) -> None:
    bring_in(project, folder)
    notes.save_note(project.pk, "empty.md", "written here", author)
    assert bring_in(project, folder).unchanged == 3
    assert notes.get_note(project.pk, "empty.md").text == "written here"
    (folder / "empty.md").write_text("written there")
    report = bring_in(project, folder)
    (copy,) = report.conflicts
    assert copy.startswith("empty (conflict ")
    assert notes.get_note(project.pk, "empty.md").text == "written here"
    assert notes.get_note(project.pk, copy).text == "written there"
    assert bring_in(project, folder).conflicts == []


def test_files_that_are_no_text_are_kept_as_they_are(
    project: Project, folder: Path, tmp_path: Path
) -> None:
    (folder / "latin.md").write_bytes(b"caf\xe9")
    (folder / "zero.md").write_bytes(b"a\0b")
    (folder / "huge.md").write_bytes(b"x" * (MAX_NOTE_BYTES + 1))
    (folder / "large.md").write_bytes(b"x" * MAX_NOTE_BYTES)
    report = bring_in(project, folder)
    assert {skipped.path: skipped.why for skipped in report.kept_as_files} == {
        "huge.md": "larger than 2,097,152 bytes",
        "latin.md": "is not UTF-8",
        "zero.md": "holds NUL characters",
    }
    assert notes.get_note(project.pk, "large.md").size == MAX_NOTE_BYTES
    export_project(project.pk, tmp_path / "out")
    assert files(tmp_path / "out") == files(folder)


def test_a_file_that_is_too_large_is_listed_once(
    project: Project, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attachments, "MAX_ATTACHMENT_BYTES", MAX_NOTE_BYTES + 5)
    (folder / "huge.md").write_bytes(b"x" * (MAX_NOTE_BYTES + 10))
    report = bring_in(project, folder)
    assert left_out(report) == {"huge.md": "larger than 2,097,157 bytes"}
    assert report.kept_as_files == []


def test_a_file_whose_path_a_note_has_is_listed_once(project: Project, folder: Path) -> None:
    bring_in(project, folder)
    (folder / "empty.md").write_bytes(b"\0")
    report = bring_in(project, folder)
    assert left_out(report) == {"empty.md": "something else is at that path"}
    assert report.kept_as_files == []


def test_of_two_paths_with_one_key_the_second_is_left_out(project: Project, folder: Path) -> None:
    (folder / "Empty.md").write_text("first")
    (folder / "Bu\u0308cher.md").write_text("first")
    (folder / "B\u00fccher.md").write_text("second")
    report = bring_in(project, folder)
    assert left_out(report) == {
        "empty.md": "the same path as 'Empty.md' on macOS and Windows",
        "B\u00fccher.md": "the same path as 'Bu\u0308cher.md' on macOS and Windows",
    }
    assert left_out(bring_in(project, folder)) == left_out(report)


def test_what_cannot_be_taken_is_left_out_with_the_reason(
    project: Project, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.md").write_text("secret")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (folder / "linked").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe.md")
    (folder / "con.md").write_text("x")
    (folder / "a:b.md").write_text("x")
    (folder / ".obsidian").mkdir()
    (folder / ".obsidian" / "app.json").write_text("{}")
    (Path(os.fsdecode(os.fsencode(folder) + b"/\xff.md"))).write_text("x")
    report = bring_in(project, folder)
    why = left_out(report)
    assert why["link.md"] == why["linked"] == "a link, which is not followed"
    assert why["pipe.md"] == "not a regular file"
    assert why[".obsidian"] == "hidden"
    assert "Windows" in why["con.md"]
    assert {"a:b.md", "\udcff.md"} <= why.keys()
    assert report.created == 2
    assert not Note.objects.filter(text__contains="secret").exists()


def test_a_crash_in_the_middle_keeps_what_is_in_and_the_next_import_goes_on(
    project: Project, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importer, "BATCH_FILES", 1)
    write, calls = note_writer.write_changes, list[Any]()

    def fill_up(*args: Any) -> None:
        calls.append(args)
        if len(calls) == 2:
            raise OperationalError("database or disk is full")
        write(*args)

    monkeypatch.setattr(importer, "write_changes", fill_up)
    with pytest.raises(ImportStopped, match=r"disk is full\). Files imported so far are kept"):
        bring_in(project, folder)
    assert Note.objects.count() == 1
    report = bring_in(project, folder)
    assert (report.created, report.unchanged) == (1, 1)


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (IntegrityError("UNIQUE constraint failed"), "Somebody else is changing the same files"),
        (OperationalError("database or disk is full"), r"disk is full\)"),
    ],
)
def test_an_import_that_is_refused_a_second_time_says_why(
    project: Project,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    second: Exception,
    said: str,
) -> None:
    errors = [IntegrityError("UNIQUE constraint failed"), second]
    write = note_writer.write_changes

    def refuse(*args: Any) -> None:
        if errors:
            raise errors.pop(0)
        write(*args)

    monkeypatch.setattr(importer, "write_changes", refuse)
    with pytest.raises(ImportStopped, match=said):
        bring_in(project, folder)
    assert bring_in(project, folder).created == 2


@pytest.mark.skipif(connection.vendor != "sqlite", reason="the trigger is written for SQLite")
def test_an_import_whose_every_write_is_refused_by_the_database_says_why(
    project: Project, folder: Path
) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TEMP TRIGGER faster BEFORE INSERT ON agents_note "
            "BEGIN SELECT RAISE(ABORT, 'UNIQUE constraint failed'); END"
        )
        try:
            with pytest.raises(ImportStopped, match="Files imported so far are kept"):
                bring_in(project, folder)
        finally:
            cursor.execute("DROP TRIGGER faster")


def test_a_full_disk_stops_the_import_of_other_files(
    project: Project, folder: Path, monkeypatch: pytest.MonkeyPatch, data_folder: Path
) -> None:
    def refuse(*args: Any, **options: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("agents.vault.attachments.os.replace", refuse)
    with pytest.raises(ImportStopped, match="No space left"):
        bring_in(project, folder)
    assert [path for path in data_folder.rglob("*") if path.is_file()] == []
    monkeypatch.undo()


def test_a_file_that_a_purge_removes_meanwhile_is_left_out_and_comes_in_the_next_time(
    project: Project, folder: Path
) -> None:
    sha256 = hashlib.sha256((folder / "pic.png").read_bytes()).hexdigest()

    def purge(done: int, total: int, path: str) -> None:
        remove_unreferenced_files([sha256])

    report = import_files(project.pk, FolderSource(folder), Author.importer(), purge)
    assert (report.created, report.attachments) == (2, 0)
    assert "add it again" in left_out(report)["pic.png"]
    assert not Attachment.objects.exists()
    assert bring_in(project, folder).attachments == 1
    assert get_file(sha256).exists()


def test_the_notes_of_a_real_vault_come_back_byte_for_byte(
    project: Project, tmp_path: Path
) -> None:
    if not KEPANO.exists():
        pytest.skip("the vault is not on this machine")
    with tarfile.open(KEPANO) as archive:
        archive.extractall(tmp_path, filter="data")
    vault = tmp_path / "kepano"
    report = bring_in(project, vault)
    assert (report.created, report.attachments) == (103, 32)
    assert set(left_out(report)) == {".gitignore", ".obsidian"}
    export_project(project.pk, tmp_path / "out")
    there = {path: data for path, data in files(vault).items() if not path.startswith(".")}
    assert files(tmp_path / "out") == there
    assert bring_in(project, vault).unchanged == 135


# -- zips -----------------------------------------------------------------------------------------


def pack(place: Path, *members: tuple[str | zipfile.ZipInfo, bytes]) -> Path:
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return place


def test_a_zip_is_imported_like_a_folder(project: Project, folder: Path, tmp_path: Path) -> None:
    bring_in(project, folder)
    export_project(project.pk, tmp_path / "out.zip")
    other = Project.objects.create(name="other")
    assert bring_in(other, tmp_path / "out.zip").created == 2
    export_project(other.pk, tmp_path / "out")
    assert files(tmp_path / "out") == files(folder)


def test_paths_of_a_zip_that_climb_are_refused(project: Project, tmp_path: Path) -> None:
    link = zipfile.ZipInfo("link.md")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    paths = ["../up.md", "a/../../up.md", "/etc/up.md", "C:/up.md", "..\\up.md"]
    report = bring_in(
        project,
        pack(tmp_path / "x.zip", *((path, b"x") for path in paths), (link, b"/"), ("ok.md", b"x")),
    )
    assert [note.path for note in Note.objects.all()] == ["ok.md"]
    assert len(report.skipped) == 6
    assert left_out(report)["link.md"] == "a link, which is not followed"


def test_a_zip_that_grows_without_bound_is_refused(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bomb = pack(tmp_path / "x.zip", ("bomb.bin", b"\0" * 30_000_000), ("ok.md", b"x"))
    report = bring_in(project, bomb)
    assert left_out(report) == {"bomb.bin": "grows too much when unpacked"}
    monkeypatch.setattr("agents.vault.import_sources.ALWAYS_ALLOWED_BYTES", 1_000_000)
    monkeypatch.setattr("agents.vault.import_sources.MAX_RATIO", 2)
    many = pack(tmp_path / "y.zip", *((f"{n}.bin", b"\0" * 400_000) for n in range(10)))
    report = bring_in(project, many)
    assert list(left_out(report).values()) == ["the zip grows too much when unpacked"] * 8


def test_a_damaged_zip_gives_what_is_whole(project: Project, tmp_path: Path) -> None:
    place = pack(tmp_path / "x.zip", ("a.md", os.urandom(50).hex().encode()), ("b.md", b"whole"))
    data = bytearray(place.read_bytes())
    data[40] ^= 0xFF
    place.write_bytes(bytes(data))
    report = bring_in(project, place)
    assert set(left_out(report)) == {"a.md"}
    assert notes.get_note(project.pk, "b.md").text == "whole"


def test_what_is_neither_a_folder_nor_a_zip_is_refused(project: Project, tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(b"no zip")
    for name in ("x.zip", "missing"):
        with pytest.raises(NoteUnavailable, match="read"):
            bring_in(project, tmp_path / name)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["vault/a.md", "vault/b.md"], ["a.md", "b.md"]),
        (["My/.obsidian/app.json", "My/a.md"], ["a.md"]),
        (["Notes/a.md", "Notes/b.md"], ["Notes/a.md", "Notes/b.md"]),
        (["vault/a.md", "__MACOSX/vault/._a.md"], ["a.md"]),
        (["vault/a.md", "b.md"], ["b.md", "vault/a.md"]),
    ],
)
def test_the_folder_that_was_packed_is_the_root(
    project: Project, tmp_path: Path, names: list[str], expected: list[str]
) -> None:
    bring_in(project, pack(tmp_path / "vault.zip", *((name, b"x") for name in names)))
    assert [note.path for note in Note.objects.all()] == expected


def test_dropped_files_are_taken_by_their_paths(project: Project, folder: Path) -> None:
    paths = ["up/a.md", "up/a.md", "../b.md"]
    dropped = [(path, lambda: (folder / "empty.md").open("rb")) for path in paths]
    report = import_files(project.pk, FilesSource(dropped), Author.importer())
    assert (report.created, sorted(left_out(report))) == (1, ["../b.md", "up/a.md"])
    assert left_out(report)["up/a.md"] == "a file with this path already exists"


def test_a_folder_that_cannot_be_read_is_said(project: Project, tmp_path: Path) -> None:
    report = import_files(project.pk, FolderSource(tmp_path / "none"), Author.importer())
    assert "cannot be read" in left_out(report)["."]


def test_an_import_ends_when_its_person_may_no_longer_change_the_project(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A zip may take minutes, and its person may be removed meanwhile."""
    monkeypatch.setattr(importer, "BATCH_FILES", 1)
    ada = User.objects.create(username="ada")
    place = Membership.objects.create(project=project, user=ada, role=Membership.Role.MEMBER)
    source = FilesSource([(path, partial(io.BytesIO, b"x")) for path in ("a.md", "b.md")])

    def make_reader(done: int, total: int, path: str) -> None:
        Membership.objects.filter(pk=place.pk).update(role=Membership.Role.READER)

    with pytest.raises(ImportStopped, match="may no longer change this project"):
        import_files(project.pk, source, Author.importer(ada.pk), make_reader)
    assert [note.path for note in Note.objects.all()] == ["a.md"]


def test_threads_are_not_imported_for_somebody_who_may_not_write(project: Project) -> None:
    ada = User.objects.create(username="ada")
    source = FilesSource([("c.md", partial(io.BytesIO, THREAD))])
    with pytest.raises(ImportStopped):
        import_files(project.pk, source, Author.importer(ada.pk))
    assert not Thread.objects.exists()
