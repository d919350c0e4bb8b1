"""`python -m bench.vault`: importing and saving notes, as multiples of bare sqlite3 with FTS5.

The floor writes a row and its FTS5 entry, and nothing else. Ours writes the row, its version, tags,
aliases, links and the analysed text of the note and its sections. Both work on the same generated
notes, in turns; times are of the processor. `--postgresql` does the same on a PostgreSQL
that is started for it, beside a row with its own text search: by the clock, without bounds.
"""

import argparse
import random
import resource
import sqlite3
import statistics
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

# Imported first: it sets Django up.
import bench.site  # noqa: F401  # isort: skip
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection, transaction

from agents.models import Project
from agents.vault.author import Author
from agents.vault.import_sources import FolderSource
from agents.vault.importer import import_files
from agents.vault.moves import move_note
from agents.vault.notes import create_note, notes_for, save_note
from bench.search import measure_seconds, run_on_postgresql

MAX_IMPORT_RATIO = MAX_SAVE_RATIO = 10.0
BATCH_SIZE = 250
BACKLINKS = 1_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=2_000)
    parser.add_argument("--saves", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--postgresql", action="store_true")
    options = parser.parse_args()
    if options.postgresql:
        sizes = (f"--{name}={getattr(options, name)}" for name in ("notes", "saves", "rounds"))
        return run_on_postgresql("bench.vault", *sizes)
    call_command("migrate", verbosity=0)
    author = Author.person(User.objects.create(username="ada").pk)
    with tempfile.TemporaryDirectory() as folder:
        texts = write_notes(Path(folder) / "vault", options.notes)
        imported = report_import(Path(folder), texts, options.rounds)
        saved = report_saves(Path(folder), texts, author, options.saves)
    report_move(author)
    print(f"largest memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")
    if connection.vendor == "postgresql":
        return 0
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
    """Rows, each with its entry in the text search of the database, and nothing else."""

    name: str

    def insert_all(self, texts: dict[str, str]) -> None:
        raise NotImplementedError

    def save(self, number: int, path: str, text: str) -> None:
        raise NotImplementedError


class PlainSqlite(PlainNotes):
    """Rows and an FTS5 table, with the pragmas of the site."""

    name = "sqlite3 and FTS5"

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


class PlainPostgresql(PlainNotes):
    """A table with a GIN index."""

    name = "a row and its tsvector"

    def __init__(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE IF EXISTS plain")
            cursor.execute(
                "CREATE TABLE plain"
                " (id bigint PRIMARY KEY, path text UNIQUE, text text, tsv tsvector)"
            )
            cursor.execute("CREATE INDEX ON plain USING gin (tsv)")

    def insert_all(self, texts: dict[str, str]) -> None:
        rows = [(n, path, text, text) for n, (path, text) in enumerate(texts.items(), start=1)]
        statement = "INSERT INTO plain VALUES (%s, %s, %s, to_tsvector('english', %s))"
        for start in range(0, len(rows), BATCH_SIZE):
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.executemany(statement, rows[start : start + BATCH_SIZE])

    def save(self, number: int, path: str, text: str) -> None:
        statement = "UPDATE plain SET text = %s, tsv = to_tsvector('english', %s) WHERE id = %s"
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement, [text, text, number])


def create_plain(folder: Path, name: str) -> PlainNotes:
    if connection.vendor == "postgresql":
        return PlainPostgresql()
    return PlainSqlite(folder / f"{name}.sqlite3")


# -- measurements ---------------------------------------------------------------------------------


def report_import(folder: Path, texts: dict[str, str], rounds: int) -> float:
    floor, ours = [], []
    for number in range(rounds):
        plain = create_plain(folder, f"import{number}")
        floor.append(measure_seconds(lambda plain=plain: plain.insert_all(texts)))  # type: ignore[misc]
        project = Project.objects.create(name=f"import {number}", slug=f"import-{number}")
        load = partial(import_files, project.pk, FolderSource(folder / "vault"), Author.importer())
        ours.append(measure_seconds(load))
    ratio = statistics.median(o / f for o, f in zip(ours, floor, strict=True))
    size = sum(map(len, texts.values())) / 1e6
    print(
        f"import of {len(texts):,} notes ({size:.1f} MB): {plain.name} "
        f"{statistics.median(floor):.2f} s, ours {statistics.median(ours):.2f} s, "
        f"ratio {ratio:.2f} (at most {MAX_IMPORT_RATIO:g})"
    )
    return ratio


def report_saves(folder: Path, texts: dict[str, str], author: Author, count: int) -> float:
    plain = create_plain(folder, "saves")
    plain.insert_all(texts)
    project = Project.objects.get(slug="import-0")
    floor, ours = [], []
    for number, (path, text) in enumerate(list(texts.items())[:count], start=1):
        changed = text.replace("See ", "See also ") + "\n\nOne line more.\n"
        floor.append(measure_seconds(lambda n=number, p=path, t=changed: plain.save(n, p, t)))  # type: ignore[misc]
        ours.append(
            measure_seconds(
                lambda p=path, t=changed: save_note(project.pk, p, t, author, expected_version=1)  # type: ignore[misc]
            )
        )
    ratio = statistics.median(ours) / statistics.median(floor)
    print(
        f"save of a note: {plain.name} {1_000 * statistics.median(floor):.2f} ms, ours "
        f"{1_000 * statistics.median(ours):.2f} ms, ratio {ratio:.2f} (at most {MAX_SAVE_RATIO:g})"
    )
    return ratio


def report_move(author: Author) -> None:
    project = Project.objects.create(name="move", slug="move")
    create_note(project.pk, "Old.md", "# Old", author)
    for number in range(BACKLINKS):
        create_note(project.pk, f"n{number}.md", "See [[Old#Old|it]].\n", author)
    started = time.perf_counter()
    cpu = time.process_time()
    move_note(project.pk, "Old.md", "sub/New.md", author)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - started
    left = notes_for(project.pk).filter(text__contains="[[Old").count()
    print(f"move with {BACKLINKS:,} backlinks: {cpu:.2f} s CPU, {wall:.2f} s; {left} not rewritten")


if __name__ == "__main__":
    sys.exit(main())
