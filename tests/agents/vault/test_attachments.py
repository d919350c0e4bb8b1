"""Files that are not notes: one file per content, gone with its last row."""

import os
from collections.abc import Iterable
from pathlib import Path

import pytest
from django.db import OperationalError
from django.db.models.signals import post_delete

from agents.models import Attachment, Project
from agents.vault import attachments
from agents.vault.attachments import (
    add_attachment,
    build_attachment,
    collect_hashes,
    delete_attachment,
    drop_rows_without_files,
    get_attachment,
    get_file,
    iterate_chunks,
    remove_abandoned_parts,
    remove_unreferenced_files,
    store_bytes,
)
from agents.vault.errors import NoteExists, NoteRefused, NoteUnavailable
from tests.support.notes import add_note


def stored(data_folder: Path) -> list[str]:
    return [path.name for path in (data_folder / "attachments").rglob("*") if path.is_file()]


def test_equal_contents_share_a_file(project: Project, data_folder: Path) -> None:
    one = add_attachment(project.pk, "a/Map.png", [b"x", b"y"])
    other = add_attachment(project.pk, "b.bin", [b"xy"])
    assert stored(data_folder) == [one.sha256] == [other.sha256]
    assert get_file(one.sha256).parent.name == one.sha256[:2]
    assert (one.size, one.content_type, one.name_key) == (2, "image/png", "map.png")
    assert other.content_type == "application/octet-stream"
    assert b"".join(iterate_chunks(get_attachment(project.pk, "A/map.PNG"))) == b"xy"


def test_a_file_goes_with_the_last_project_that_has_it(project: Project, data_folder: Path) -> None:
    other = Project.objects.create(name="other", slug="other")
    add_attachment(project.pk, "a.bin", [b"shared"])
    add_attachment(other.pk, "b.bin", [b"shared"])
    own = add_attachment(project.pk, "c.bin", [b"own"])
    hashes = collect_hashes(project.pk)
    project.delete()
    assert remove_unreferenced_files(hashes) == 1
    assert own.sha256 not in stored(data_folder)
    assert len(stored(data_folder)) == 1
    assert remove_unreferenced_files(hashes) == 0


def test_a_file_that_gets_a_row_while_it_is_removed_stays(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    sha256, size = store_bytes([b"shared"])
    first_look = attachments._is_used
    looks = list[bool]()

    def look(wanted: str) -> bool:
        looks.append(first_look(wanted))
        if len(looks) == 1:  # an import is quicker than what follows
            build_attachment(project.pk, "a.bin", sha256, size).save()
        return looks[-1]

    monkeypatch.setattr(attachments, "_is_used", look)
    assert remove_unreferenced_files([sha256]) == 0
    assert looks == [False, True]
    assert b"".join(iterate_chunks(get_attachment(project.pk, "a.bin"))) == b"shared"


def test_a_file_stays_when_nobody_can_say_whether_it_is_used(
    project: Project, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sha256, _ = store_bytes([b"shared"])
    answers = iter([False])

    def look(wanted: str) -> bool:
        for answer in answers:
            return answer
        raise OperationalError("database is locked")

    monkeypatch.setattr(attachments, "_is_used", look)
    with pytest.raises(OperationalError):
        remove_unreferenced_files([sha256])
    assert stored(data_folder) == [sha256]


def test_a_file_that_comes_back_after_its_row_was_given_up_is_removed(
    project: Project, data_folder: Path
) -> None:
    sha256, size = store_bytes([b"shared"])
    row = build_attachment(project.pk, "a.bin", sha256, size)
    row.save()
    file, aside = get_file(sha256), get_file(sha256).with_suffix(".part")
    file.rename(aside)  # a purge that has yet to look again

    def bring_back(**_: object) -> None:
        aside.rename(file)

    post_delete.connect(bring_back, sender=Attachment, weak=False)
    try:
        assert drop_rows_without_files([row]) == [row]
    finally:
        post_delete.disconnect(bring_back, sender=Attachment)
    assert stored(data_folder) == []


def test_no_row_is_kept_for_a_file_that_was_removed_before_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def store_then_purge(chunks: Iterable[bytes]) -> tuple[str, int]:
        stored = store_bytes(chunks)
        assert remove_unreferenced_files([stored[0]]) == 1
        return stored

    monkeypatch.setattr(attachments, "store_bytes", store_then_purge)
    with pytest.raises(NoteRefused, match="add it again"):
        add_attachment(project.pk, "a.bin", [b"shared"])
    assert not Attachment.objects.exists()


def test_what_is_in_the_trash_keeps_its_bytes(project: Project, data_folder: Path) -> None:
    row = add_attachment(project.pk, "a.bin", [b"x"])
    delete_attachment(row)
    with pytest.raises(NoteUnavailable):
        get_attachment(project.pk, "a.bin")
    assert remove_unreferenced_files([row.sha256]) == 0
    add_attachment(project.pk, "a.bin", [b"y"])
    assert Attachment.objects.count() == 2


def test_what_cannot_be_stored_leaves_nothing_behind(
    project: Project, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_note(project, "taken.md")
    with pytest.raises(NoteExists):
        add_attachment(project.pk, "Taken.md", [b"x"])
    with pytest.raises(NoteRefused):
        add_attachment(project.pk, "../x.bin", [b"x"])
    monkeypatch.setattr(attachments, "MAX_ATTACHMENT_BYTES", 3)
    with pytest.raises(NoteRefused, match="larger than 3 bytes"):
        add_attachment(project.pk, "x.bin", [b"ab", b"cd"])
    assert not Attachment.objects.exists()
    assert not [name for name in stored(data_folder) if name.endswith(".part")]


def test_bytes_that_are_gone_are_said_to_be(project: Project) -> None:
    row = add_attachment(project.pk, "a.bin", [b"x"])
    get_file(row.sha256).unlink()
    with pytest.raises(NoteUnavailable, match=r"a\.bin"):
        list(iterate_chunks(row))


def test_what_a_process_that_died_has_left_goes_after_a_day(
    project: Project, data_folder: Path
) -> None:
    kept = add_attachment(project.pk, "a.bin", [b"kept"])
    used = f"{get_file(kept.sha256)}-1.part"  # of a purge that did not get to bring it back
    unused = str(data_folder / "attachments" / "unused.part")
    recent = str(data_folder / "attachments" / "recent.part")
    for path in (used, unused, recent):
        Path(path).write_bytes(b"half")
    for path in (used, unused):
        os.utime(path, (0, 0))
    remove_abandoned_parts()
    assert [Path(path).exists() for path in (used, unused, recent)] == [True, False, True]
