"""Zips of anybody: damaged in every way they give what is whole, or are refused in words."""

import io
import random
import zipfile
from pathlib import Path

import pytest

from agents.models import Project
from agents.vault import import_sources
from agents.vault.author import Author
from agents.vault.errors import NoteRefused, NoteUnavailable
from agents.vault.import_sources import REPEATED_MESSAGE, open_source
from agents.vault.importer import ImportReport, import_files
from agents.vault.notes import find_note, notes_for

WAYS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


def pack() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for way in WAYS:
            for name in (f"{way}.md", f"ü{way}.bin"):
                archive.writestr(zipfile.ZipInfo(name), name * 200, compress_type=way)
    return packed.getvalue()


def damage(data: bytes, chance: random.Random) -> bytes:
    """Change some bytes, most of them in the list of contents, or lose some."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 5))):
        first = len(changed) - 700 if chance.random() < 0.5 else 0
        place = chance.randrange(first, len(changed))
        if chance.random() < 0.8:
            changed[place] = chance.randrange(256)
        else:
            del changed[place : place + chance.randrange(1, 50)]
    return bytes(changed)


def bring_in(project: Project, place: Path) -> ImportReport | None:
    try:
        with open_source(place) as source:
            return import_files(project.pk, source, Author.importer())
    except NoteUnavailable:
        return None


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_path_that_a_zip_has_twice_is_in_the_report(project: Project, tmp_path: Path) -> None:
    place = tmp_path / "x.zip"
    with zipfile.ZipFile(place, "w") as archive:
        for text in ("first", "last"):
            archive.writestr("a.md", text)
    report = bring_in(project, place)
    assert report is not None
    assert [(each.path, each.why) for each in report.skipped] == [("a.md", REPEATED_MESSAGE)]
    note = find_note(project.pk, "a.md")
    assert note is not None
    assert note.text == "last"


def test_a_folder_of_too_many_files_is_refused_before_anything_is_imported(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_sources, "MAX_FILES", 3)
    for number in range(4):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "a.md").write_text("x")
    with pytest.raises(NoteRefused, match="more than 3 files; import parts of it"):
        bring_in(project, tmp_path)
    assert not notes_for(project.pk).exists()


@pytest.mark.parametrize("chunk_bytes", [4, 7, 1024])
def test_the_list_of_a_zip_is_counted_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk_bytes: int
) -> None:
    """A list of short names, of a file each, takes ten times as much memory as the zip has."""
    monkeypatch.setattr(import_sources, "MAX_FILES", 3)
    monkeypatch.setattr(import_sources, "_CHUNK_BYTES", chunk_bytes)
    place = tmp_path / "x.zip"
    with zipfile.ZipFile(place, "w") as archive:
        for name in "abc":
            archive.writestr(f"{name}.md", "x")
    with open_source(place) as source:
        assert len(source.files()) == 3
    with zipfile.ZipFile(place, "a") as archive:
        archive.writestr("d.md", "x")
    monkeypatch.setattr(zipfile, "ZipFile", None)  # it would be called
    with pytest.raises(NoteRefused, match="more than 3 files"), open_source(place):
        pass


@pytest.mark.parametrize(
    "count",
    [
        60,
        pytest.param(1_000, marks=pytest.mark.ci),
        pytest.param(3_000, marks=pytest.mark.long),
    ],
)
def test_no_damage_to_a_zip_is_more_than_a_refusal(
    project: Project, tmp_path: Path, count: int
) -> None:
    chance, whole = random.Random(count), pack()
    place = tmp_path / "x.zip"
    reports = []
    for _ in range(count):
        place.write_bytes(damage(whole, chance))
        reports.append(bring_in(project, place))
    assert any(report is None for report in reports)
    assert any(report is not None and report.created + report.unchanged for report in reports)


def test_what_takes_gigabytes_to_unpack_is_left_out(project: Project, tmp_path: Path) -> None:
    place = tmp_path / "x.zip"
    place.write_bytes(pack())
    report = bring_in(project, place)
    assert report is not None
    assert {file.path for file in report.skipped} == {"12.md", "ü12.bin", "14.md", "ü14.bin"}
    assert find_note(project.pk, "8.md") is not None


@pytest.mark.parametrize("name", ["x.zip", "none.zip"])
def test_what_cannot_be_opened_is_named_without_its_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "x.zip").write_bytes(b"no zip")
    with pytest.raises(NoteUnavailable) as refused, open_source(tmp_path / name):
        pass
    assert str(refused.value).startswith(f"'{name}' ")
    assert str(tmp_path) not in str(refused.value)


def test_a_name_that_is_no_utf8_refuses_the_zip(project: Project, tmp_path: Path) -> None:
    place = tmp_path / "x.zip"
    place.write_bytes(pack().replace("ü0.bin".encode(), b"\xff\xfe0.bin"))
    with pytest.raises(NoteUnavailable, match="not a zip that can be read"), open_source(place):
        pass
