"""A folder of notes: what it finds, what it refuses, and that it follows the files."""

import os
import time
from pathlib import Path

import pytest

from agents.core.stemming import stem
from agents.vault.errors import NoteRefused, NoteUnavailable
from agents.vault.search_index import Document, SearchIndex
from agents.vault.store import (
    MAX_BYTES,
    SAMPLE_PROJECT,
    FolderNotes,
    validate_path,
)

TRAVERSAL = Path(__file__).resolve().parents[4] / "shared" / "payloads" / "traversal.txt"
BAD_PATHS = [
    "",
    " ",
    "../outside.md",
    "a/../../outside.md",
    "a/..",
    "..",
    "/etc/passwd",
    "/outside.md",
    "~/outside.md",
    "..\\outside.md",
    "C:/outside.md",
    "c:outside.md",
    "a//b.md",
    "./a.md",
    ".hidden.md",
    ".git/config.md",
    "a/.hidden/b.md",
    "note.txt",
    "note.md.txt",
    "note",
    "note.md/",
    "note.md\x00.txt",
    "line\nbreak.md",
    "\ud800.md",
    "x" * 400 + ".md",
    "/".join("abcdefghijk") + ".md",
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    (tmp_path / "outside.md").write_text("# Outside\n\nThe password is swordfish.\n")
    return folder


@pytest.fixture
def notes(root: Path) -> FolderNotes:
    return FolderNotes(root, writable=True)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


# -- paths ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", BAD_PATHS)
def test_a_path_that_may_lead_out_is_refused(path: str, notes: FolderNotes, tmp_path: Path) -> None:
    before = files(tmp_path)
    with pytest.raises(NoteRefused, match=r"pass a|only files"):
        notes.read(path)
    with pytest.raises(NoteRefused):
        notes.write(path, "x")
    assert files(tmp_path) == before


def test_no_known_traversal_leaves_the_root(notes: FolderNotes, root: Path, tmp_path: Path) -> None:
    if not TRAVERSAL.exists():
        pytest.skip("the payloads are not on this machine")
    outside = files(tmp_path)
    for line in TRAVERSAL.read_text(errors="replace").splitlines():
        for path in (line, f"{line}.md", f"a/{line}.md", f"{line}/outside.md"):
            with pytest.raises((NoteRefused, NoteUnavailable)):
                notes.read(path)
            try:
                notes.write(path, "written")
            except (NoteRefused, NoteUnavailable):
                continue
    inside = {path for path in files(tmp_path) if path.startswith(f"{root}/")}
    assert {path: data for path, data in files(tmp_path).items() if path not in inside} == outside


def test_a_link_to_a_file_outside_is_not_followed(
    notes: FolderNotes, root: Path, tmp_path: Path
) -> None:
    (root / "link.md").symlink_to(tmp_path / "outside.md")
    with pytest.raises(NoteRefused, match="link"):
        notes.read("link.md")
    with pytest.raises(NoteRefused, match="link"):
        notes.write("link.md", "x")
    assert notes.list() == []
    assert notes.search(["swordfish"], 5).hits == ()
    assert "swordfish" in (tmp_path / "outside.md").read_text()


def test_a_link_to_a_folder_outside_is_not_followed(
    notes: FolderNotes, root: Path, tmp_path: Path
) -> None:
    (root / "folder").symlink_to(tmp_path)
    (root / "circle").symlink_to(root / "circle")
    for path in ("folder/outside.md", "folder/new.md", "circle/a.md"):
        with pytest.raises(NoteRefused, match="link"):
            notes.write(path, "x")
        with pytest.raises(NoteRefused, match="link"):
            notes.read(path)
    assert notes.list() == []
    assert not (tmp_path / "new.md").exists()


def test_a_good_path_is_taken_as_it_is() -> None:
    assert validate_path("Über uns/Plan (2026), neu.md") == "Über uns/Plan (2026), neu.md"


# -- reading and writing --------------------------------------------------------------------------


def test_what_was_written_can_be_read_and_found(notes: FolderNotes) -> None:
    assert notes.write("a/new.md", "# Kite\n\nThe kite is red.\n") is None
    assert notes.read("a/new.md") == "# Kite\n\nThe kite is red.\n"
    assert [hit.path for hit in notes.search(["red kite"], 5).hits] == ["a/new.md"]
    assert notes.write("a/new.md", "# Boat\n") == "# Kite\n\nThe kite is red.\n"
    assert notes.search(["kite"], 5).hits == ()


def test_notes_can_only_be_read_unless_said_otherwise(root: Path) -> None:
    with pytest.raises(NoteRefused, match="only be read"):
        FolderNotes(root).write("a.md", "x")
    assert files(root) == {}


def test_a_missing_note_is_told_with_what_is_near(notes: FolderNotes) -> None:
    notes.write("plan/roadmap.md", "x")
    with pytest.raises(NoteUnavailable, match=r"Did you mean plan/roadmap\.md\?"):
        notes.read("roadmap.md")
    with pytest.raises(NoteUnavailable, match="vault_list"):
        notes.read("other.md")


def test_a_folder_that_ends_like_a_note_is_no_note(notes: FolderNotes, root: Path) -> None:
    (root / "folder.md").mkdir()
    with pytest.raises(NoteUnavailable):
        notes.read("folder.md")
    with pytest.raises(NoteUnavailable):
        notes.write("folder.md", "x")
    assert notes.list() == []


def test_a_pipe_does_not_block(notes: FolderNotes, root: Path) -> None:
    os.mkfifo(root / "pipe.md")
    assert notes.read("pipe.md") == ""


def test_what_is_too_large_is_refused(notes: FolderNotes, root: Path) -> None:
    with pytest.raises(NoteRefused, match="two notes"):
        notes.write("a.md", "x" * (MAX_BYTES + 1))
    (root / "b.md").write_bytes(b"x" * (MAX_BYTES + 1))
    with pytest.raises(NoteRefused, match="vault_search"):
        notes.read("b.md")


def test_bytes_that_are_no_text_are_marked(notes: FolderNotes, root: Path) -> None:
    (root / "a.md").write_bytes(b"\xef\xbb\xbfcaf\xe9 kite")
    assert notes.read("a.md") == "caf\ufffd kite"
    assert notes.search(["kite"], 1).hits


def test_the_index_follows_the_files(notes: FolderNotes, root: Path) -> None:
    (root / "a.md").write_text("apple")
    (root / "b.md").write_text("banana")
    assert [listed.path for listed in notes.list()] == ["a.md", "b.md"]
    (root / "a.md").write_text("cherry")
    os.utime(root / "a.md", ns=(1, 1))
    (root / "b.md").unlink()
    assert notes.search(["apple banana"], 5).hits == ()
    assert [hit.path for hit in notes.search(["cherry"], 5).hits] == ["a.md"]


def test_notes_are_listed_by_folder_with_their_titles() -> None:
    notes = FolderNotes(SAMPLE_PROJECT)
    assert [(n.path, n.title) for n in notes.list("plan/")] == [
        ("plan/budget.md", "Budget"),
        ("plan/roadmap.md", "Roadmap"),
    ]
    assert notes.list("nowhere") == []
    with pytest.raises(NoteRefused):
        notes.list("../")


# -- ranking --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("permit Sandholm", "plan/roadmap.md"),
        ("signing the firmware image", "firmware/release-process.md"),
        ("Garantie auf Radarköpfe", "meetings/2026-05-07-pegelbau.md"),
        ("alarm thresholds", "meetings/2026-04-16.md"),
        ("LFP battery", "decisions/0003-power.md"),
        ("treasurer", "plan/budget.md"),
        ("backups of the database", "data/platform.md"),
    ],
)
def test_the_best_note_comes_first(query: str, path: str) -> None:
    hits = FolderNotes(SAMPLE_PROJECT).search([query], 5).hits
    assert hits[0].path == path
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(0 <= hit.score <= 1 and len(hit.snippet) <= 500 for hit in hits)


def test_a_hit_names_the_line_that_fits_best() -> None:
    hit = FolderNotes(SAMPLE_PROJECT).search(["treasurer signature"], 1).hits[0]
    line = (SAMPLE_PROJECT / hit.path).read_text().splitlines()[hit.line - 1]
    assert "treasurer" in line
    assert hit.heading == "Rules"


def test_titles_headings_and_tags_count_more_than_text() -> None:
    ranking = SearchIndex()
    ranking.add(Document("a.md", "filler text\n\na kite here\n"))
    ranking.add(Document("b.md", "# Kite\n\nfiller text\n"))
    ranking.add(Document("c.md", "---\ntags:\n  - kite\n---\nfiller text\n"))
    assert [hit.document.path for hit in ranking.search("kites", 5)] == ["b.md", "c.md", "a.md"]


def test_words_side_by_side_count_more_than_words_far_apart() -> None:
    ranking = SearchIndex()
    ranking.add(Document("far.md", "red\n\nfiller\n\nkite\n"))
    ranking.add(Document("near.md", "filler\n\nred kite\n\nfiller\n"))
    assert ranking.search("red kite", 2)[0].document.path == "near.md"


@pytest.mark.parametrize("query", ["", "   ", "?!", "the of", "zzzz", "x" * 10_000, "\x00"])
def test_odd_queries_find_nothing_or_something_but_never_fail(query: str) -> None:
    assert isinstance(FolderNotes(SAMPLE_PROJECT).search([query], 3).hits, tuple)


@pytest.mark.parametrize("text", ["", "---", "---\n---", "---\ntitle:\n---\n", "#", "\n\n\n"])
def test_odd_notes_can_be_indexed(text: str) -> None:
    ranking = SearchIndex()
    ranking.add(Document("odd.md", text))
    assert len(ranking.search("odd", 3)) == 1
    ranking.remove("odd.md")
    assert ranking.search("odd", 3) == []


@pytest.mark.parametrize(
    "words",
    [
        ("release", "releases", "released", "releasing"),
        ("plan", "plans", "planned", "planning"),
        ("supply", "supplies", "supplied", "supplier"),
        ("battery", "batteries"),
        ("lieferung", "lieferungen", "liefern"),
        ("harbour", "harbours", "harbour's"),
    ],
)
def test_forms_of_a_word_have_one_stem(words: tuple[str, ...]) -> None:
    assert len({stem(word) for word in words}) == 1


def test_a_few_thousand_notes_are_searched_quickly(root: Path) -> None:
    texts = [path.read_text() for path in sorted(SAMPLE_PROJECT.rglob("*.md"))]
    for number in range(2_000):
        (root / f"{number}.md").write_text(f"# Note {number}\n\n{texts[number % len(texts)][:800]}")
    notes = FolderNotes(root)
    notes.search(["first"], 1)
    began = time.perf_counter()
    assert notes.search(["note 1234 gauge battery"], 1).hits[0].path == "1234.md"
    assert time.perf_counter() - began < 2


def test_the_notes_that_were_changed_last_come_first(tmp_path: Path) -> None:
    for age, name in enumerate(["new.md", "older.md", "oldest.md"]):
        (tmp_path / name).write_text("text")
        os.utime(tmp_path / name, (1_700_000_000 - age, 1_700_000_000 - age))
    assert FolderNotes(tmp_path).list_recent(2) == ["new.md", "older.md"]
