"""`python -m bench.vault`: importing and saving notes, as multiples of bare sqlite3 with FTS5.

The floor writes a row and its FTS5 entry, and nothing else. Ours writes the row, its version, tags,
aliases, links and the analysed text of the note and its sections. Both work on the same generated
notes, in turns; times are of the processor.
"""

import argparse
import random
import resource
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

# Imported first: it sets Django up.
import bench.site  # noqa: F401  # isort: skip
from django.contrib.auth.models import User
from django.core.management import call_command

from agents.models import Project
from agents.vault.author import Author
from agents.vault.import_sources import FolderSource
from agents.vault.importer import import_files
from agents.vault.moves import move_note
from agents.vault.notes import create_note, notes_for, save_note

MAX_IMPORT_RATIO = MAX_SAVE_RATIO = 10.0
BATCH_SIZE = 250
BACKLINKS = 1_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=2_000)
    parser.add_argument("--saves", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    call_command("migrate", verbosity=0)
    author = Author.person(User.objects.create(username="ada").pk)
    with tempfile.TemporaryDirectory() as folder:
        texts = write_notes(Path(folder) / "vault", options.notes)
        imported = report_import(Path(folder), texts, author, options.rounds)
        saved = report_saves(Path(folder), texts, author, options.saves)
    report_move(author)
    print(f"largest memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")
    return int(imported > MAX_IMPORT_RATIO or saved > MAX_SAVE_RATIO)


# -- notes ----------------------------------------------------------------------------------------


def write_notes(folder: Path, count: int) -> dict[str, str]:
    """Notes as people have them: about 3 KB, with properties, headings, links and tags."""
    chance = random.Random(15)
    words = [
        "".join(chance.choices("aeioulnrstdkmbgh", k=chance.randint(2, 11))) for _ in range(20_000)
    ]
    weights = [1 / (rank + 3) for rank in range(len(words))]
    folder.mkdir()
    texts = {}
    for number in range(count):
        path = f"folder {number % 40}/note {number}.md"
        texts[path] = build_note(chance, chance.choices(words, weights, k=440), number, count)
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(texts[path])
    return texts


def build_note(chance: random.Random, words: list[str], number: int, count: int) -> str:
    lines = ["---", f"tags: [kind/{number % 30}]", f"aliases: [Alias {number}]", "---"]
    for start in range(0, len(words), 22):
        if start % 88 == 0:
            lines += [f"## {' '.join(words[start : start + 3])}", ""]
        lines += [" ".join(words[start : start + 22]), ""]
    links = [f"[[note {chance.randrange(count)}]]" for _ in range(6)]
    return "\n".join([*lines, "See " + ", ".join(links) + " #seen", ""])


# -- the floor ------------------------------------------------------------------------------------


class PlainNotes:
    """Rows and an FTS5 table, with the pragmas of the site."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
            "CREATE TABLE note (id INTEGER PRIMARY KEY, path TEXT UNIQUE, text TEXT);"
            "CREATE VIRTUAL TABLE note_fts USING fts5(path, text, tokenize='porter unicode61');"
        )

    def insert_all(self, texts: dict[str, str]) -> None:
        rows = list(enumerate(texts.items(), start=1))
        for start in range(0, len(rows), BATCH_SIZE):
            self.connection.execute("BEGIN IMMEDIATE")
            for number, (path, text) in rows[start : start + BATCH_SIZE]:
                self.connection.execute("INSERT INTO note VALUES (?, ?, ?)", (number, path, text))
                self.insert_entry(number, path, text)
            self.connection.execute("COMMIT")

    def insert_entry(self, number: int, path: str, text: str) -> None:
        statement = "INSERT INTO note_fts (rowid, path, text) VALUES (?, ?, ?)"
        self.connection.execute(statement, (number, path, text))

    def save(self, number: int, path: str, text: str) -> None:
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.execute("UPDATE note SET text = ? WHERE id = ?", (text, number))
        self.connection.execute("DELETE FROM note_fts WHERE rowid = ?", (number,))
        self.insert_entry(number, path, text)
        self.connection.execute("COMMIT")


# -- measurements ---------------------------------------------------------------------------------


def measure_cpu(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def report_import(folder: Path, texts: dict[str, str], author: Author, rounds: int) -> float:
    floor, ours = [], []
    for number in range(rounds):
        plain = PlainNotes(folder / f"import{number}.sqlite3")
        floor.append(measure_cpu(lambda plain=plain: plain.insert_all(texts)))  # type: ignore[misc]
        project = Project.objects.create(name=f"import {number}", slug=f"import-{number}")
        source = FolderSource(folder / "vault")
        ours.append(
            measure_cpu(lambda pk=project.pk, source=source: import_files(pk, source, author))  # type: ignore[misc]
        )
    ratio = statistics.median(o / f for o, f in zip(ours, floor, strict=True))
    size = sum(map(len, texts.values())) / 1e6
    print(
        f"import of {len(texts):,} notes ({size:.1f} MB): sqlite3 and FTS5 "
        f"{statistics.median(floor):.2f} s, ours {statistics.median(ours):.2f} s, "
        f"ratio {ratio:.2f} (at most {MAX_IMPORT_RATIO:g})"
    )
    return ratio


def report_saves(folder: Path, texts: dict[str, str], author: Author, count: int) -> float:
    plain = PlainNotes(folder / "saves.sqlite3")
    plain.insert_all(texts)
    project = Project.objects.get(slug="import-0")
    floor, ours = [], []
    for number, (path, text) in enumerate(list(texts.items())[:count], start=1):
        changed = text.replace("See ", "See also ") + "\n\nOne line more.\n"
        floor.append(measure_cpu(lambda n=number, p=path, t=changed: plain.save(n, p, t)))  # type: ignore[misc]
        ours.append(
            measure_cpu(
                lambda p=path, t=changed: save_note(project.pk, p, t, author, expected_version=1)  # type: ignore[misc]
            )
        )
    ratio = statistics.median(ours) / statistics.median(floor)
    print(
        f"save of a note: sqlite3 and FTS5 {1_000 * statistics.median(floor):.2f} ms, ours "
        f"{1_000 * statistics.median(ours):.2f} ms, ratio {ratio:.2f} (at most {MAX_SAVE_RATIO:g})"
    )
    return ratio


def report_move(author: Author) -> None:
    project = Project.objects.create(name="move", slug="move")
    create_note(project.pk, "Old.md", "# Old", author)
    for number in range(BACKLINKS):
        create_note(project.pk, f"n{number}.md", "See [[Old#Old|it]].\n", author)
    started = time.perf_counter()
    cpu = measure_cpu(lambda: move_note(project.pk, "Old.md", "sub/New.md", author))
    wall = time.perf_counter() - started
    left = notes_for(project.pk).filter(text__contains="[[Old").count()
    print(f"move with {BACKLINKS:,} backlinks: {cpu:.2f} s CPU, {wall:.2f} s; {left} not rewritten")


if __name__ == "__main__":
    sys.exit(main())
