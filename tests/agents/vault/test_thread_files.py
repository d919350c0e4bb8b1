"""Threads go out as Markdown files and come back as they were; nothing in them can be forged."""

import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agents.models import Note, Project, Thread, ThreadEntry
from agents.vault import thread_files
from agents.vault.author import Author
from agents.vault.exporter import export_project
from agents.vault.import_sources import open_source
from agents.vault.importer import ImportReport, import_files
from agents.vault.notes import create_note
from agents.vault.sample import add_sample_notes
from agents.vault.thread_files import parse_thread
from agents.vault.threads import NewEntry, push_entries, push_entry, set_status, withdraw_entries

AT = datetime(2026, 2, 26, 9, 30, 0, 123456, tzinfo=UTC)
Rows = list[tuple[str, str, int, str, str, bool]]


@pytest.fixture
def other(db: None) -> Project:
    return Project.objects.create(name="other", slug="other")


def push(project: Project, name: str, *texts: str) -> None:
    entries = [NewEntry(text, "decision", AT) for text in texts]
    push_entries(project.pk, name, entries, Author.importer())


def rows(project: Project) -> Rows:
    found = ThreadEntry.objects.filter(thread__project=project).order_by("thread__key", "number")
    return [
        (row.thread.name, row.thread.status, row.number, row.kind, row.text, bool(row.withdrawn_at))
        for row in found.select_related("thread")
    ]


def take_over(source: Project, target: Project, place: Path) -> ImportReport:
    export_project(source.pk, place)
    with open_source(place) as files:
        return import_files(target.pk, files, Author.importer())


FORGED = (
    "one\n<!-- entry 2 decision 2026-01-01T00:00:00+00:00 1 lines -->\nforged\n"
    "\n## 9: x\n---\n\u2028<!-- entry 3 -->\r"
    "<!-- entry 4 decision 2026-01-01T00:00:00+00:00 1 lines -->"
)


@pytest.mark.parametrize("form", ["copy", "copy.zip"])
def test_an_export_comes_back_as_it_was(
    project: Project, other: Project, tmp_path: Path, form: str
) -> None:
    push(project, "power & <light>", "# One\n\n- a\n\n", FORGED, "three")
    push(project, "old", "x")
    set_status(project.pk, "old", Thread.Status.ARCHIVED)
    report = take_over(project, other, tmp_path / form)
    assert (report.threads, report.created, report.skipped) == (2, 0, [])
    assert rows(other) == rows(project)
    assert set(ThreadEntry.objects.values_list("at", flat=True)) == {AT}
    again = take_over(other, other, tmp_path / f"again-{form}")
    assert (again.threads, again.unchanged, again.conflicts) == (0, 2, [])
    assert rows(other) == rows(project)


def test_what_was_withdrawn_keeps_its_number_and_not_its_text(
    project: Project, other: Project, tmp_path: Path
) -> None:
    push(project, "power", "one", "zeppelin", "three")
    withdraw_entries(ThreadEntry.objects.filter(number=2), None)
    take_over(project, other, tmp_path / "copy")
    assert "zeppelin" not in (tmp_path / "copy" / "threads" / "power.md").read_text()
    assert [(row[2], row[5]) for row in rows(other)] == [(1, False), (2, True), (3, False)]


def test_new_entries_are_added_and_those_that_differ_become_a_thread_of_their_own(
    project: Project, other: Project, tmp_path: Path
) -> None:
    push(project, "power", "one")
    take_over(project, other, tmp_path / "first")
    push(project, "power", "two")
    assert take_over(project, other, tmp_path / "second").threads == 1
    assert [row[4] for row in rows(other)] == ["one", "two"]
    push(project, "power", "three")
    push(other, "power", "another three")
    report = take_over(project, other, tmp_path / "third")
    (conflict,) = report.conflicts
    assert conflict.startswith("power (conflict ")
    assert [row[4] for row in rows(other) if row[0] == conflict] == ["one", "two", "three"]
    assert [row[4] for row in rows(other) if row[0] == "power"][-1] == "another three"
    take_over(project, other, tmp_path / "fourth")
    assert Thread.objects.filter(project=other).count() == 2


def test_a_long_thread_has_several_files(
    project: Project, other: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thread_files, "MAX_PART_CHARS", 300)
    push(project, "power", *("x" * 100 for _ in range(12)))
    place = tmp_path / "copy.zip"
    take_over(project, other, place)
    names = zipfile.ZipFile(place).namelist()
    assert names[:2] == ["threads/power.md", "threads/power/0002.md"]
    assert rows(other) == rows(project)


def test_a_part_without_those_before_it_is_left_out(
    project: Project, other: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thread_files, "MAX_PART_CHARS", 300)
    push(project, "power", *("x" * 100 for _ in range(6)))
    export_project(project.pk, tmp_path / "copy")
    (tmp_path / "copy" / "threads" / "power.md").unlink()
    with open_source(tmp_path / "copy") as files:
        report = import_files(other.pk, files, Author.importer())
    assert "before it are missing" in report.skipped[0].why
    assert rows(other) == []


def test_threads_do_not_lie_where_notes_lie(project: Project, tmp_path: Path) -> None:
    create_note(project.pk, "threads/power.md", "a note", Author.importer())
    push(project, "power", "an entry")
    export_project(project.pk, tmp_path / "copy")
    assert (tmp_path / "copy" / "threads" / "power.md").read_text() == "a note"
    assert "an entry" in (tmp_path / "copy" / "threads (2)" / "power.md").read_text()


HEAD = '---\noracle-thread: "power"\nstatus: active\n---\n'
ENTRY = "<!-- entry 1 decision 2026-01-01T00:00:00+00:00 1 lines -->\nx\n"


@pytest.mark.parametrize(
    "text",
    [
        "# A note\n",
        "---\ntitle: power\n---\n",
        HEAD.replace("active", "gone") + ENTRY,
        HEAD.replace('"power"', '"power" x') + ENTRY,
        HEAD + ENTRY.replace("1 lines", "9 lines"),
        HEAD + ENTRY.replace("1 lines", "0 lines"),
        HEAD + ENTRY.replace("decision", "wish"),
        HEAD + ENTRY.replace("2026-01-01", "2026-13-01"),
        HEAD + ENTRY.replace("2026-01-01T00:00:00+00:00", "0001-01-01T00:00:00+14:00"),
    ],
)
def test_a_file_that_no_export_made_is_a_note(text: str) -> None:
    assert parse_thread(text) is None


def test_a_name_that_no_thread_can_have_is_left_out(other: Project, tmp_path: Path) -> None:
    (tmp_path / "evil.md").write_text(HEAD.replace("power", "../../etc") + ENTRY)
    with open_source(tmp_path) as files:
        report = import_files(other.pk, files, Author.importer())
    assert "slash" in report.skipped[0].why
    assert not Thread.objects.exists()
    assert not Note.objects.exists()


def test_the_sample_has_decisions_about_power(project: Project) -> None:
    add_sample_notes(project)
    thread = Thread.objects.get(name="power supply")
    kinds = list(thread.entries.values_list("kind", flat=True))
    assert kinds.count("decision") == 2
    assert not Note.objects.filter(path__startswith="threads/").exists()
    push_entry(project.pk, "power supply", NewEntry("next"), Author.importer())
