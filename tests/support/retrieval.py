"""Questions that readers asked before anything was tuned, and how well a search answers them.

They lie beside a developer's checkout, with some of the vaults that hold the answers.
"""

import json
import sqlite3
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from agents.core.stemming import WORD_PATTERN
from agents.models import Membership, Project
from agents.vault.author import Author
from agents.vault.import_sources import open_source
from agents.vault.importer import import_files
from agents.vault.notes import notes_for

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "retrieval"
MISSING = "the questions are not beside this checkout"
DJANGO = "django/django:docs"
_TARBALLS = {DJANGO: ("django-docs.tar.gz", "docs"), "kepano": ("kepano-vault.tar.gz", "kepano")}
MAX_RANK = 10

Ask = Callable[[str], Sequence[str]]
"""Answers a question with paths, best first."""


@dataclass(frozen=True, slots=True)
class Question:
    vault: str
    question: str
    expected_paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Quality:
    """At which rank each question found what it expects; None where it did not."""

    ranks: tuple[int | None, ...]

    def recall(self, rank: int) -> float:
        return sum(found is not None and found <= rank for found in self.ranks) / len(self.ranks)

    @property
    def reciprocal_rank(self) -> float:
        return sum(1 / rank for rank in self.ranks if rank) / len(self.ranks)

    def __str__(self) -> str:
        recalls = "  ".join(f"{self.recall(rank):.2f}" for rank in (1, 5, 10))
        return f"{recalls}  {self.reciprocal_rank:.3f}"


def read_questions() -> list[Question]:
    lines = (FOLDER / "given.jsonl").read_text(encoding="utf-8").splitlines()
    found = map(json.loads, lines)
    return [Question(f["vault"], f["question"], tuple(f["expected_paths"])) for f in found]


def unpack_vault(name: str, place: Path) -> Path:
    """Return the folder of a vault that is there as a tarball."""
    tarball, folder = _TARBALLS[name]
    with tarfile.open(FOLDER / tarball) as packed:
        packed.extractall(place, filter="data")
    return place / folder


def import_vault(folder: Path, user_id: int) -> UUID:
    """Import a vault as people do, into a project of its own."""
    project = Project.objects.create(name=folder.name)
    Membership.objects.create(project=project, user_id=user_id, role=Membership.Role.OWNER)
    with open_source(folder) as source:
        import_files(project.pk, source, Author.importer(user_id), lambda *_: None)
    return project.pk


def evaluate(questions: Sequence[Question], ask: Ask) -> Quality:
    ranks = []
    for question in questions:
        paths = list(ask(question.question))[:MAX_RANK]
        expected = (path in question.expected_paths for path in paths)
        ranks.append(next((rank for rank, found in enumerate(expected, 1) if found), None))
    return Quality(tuple(ranks))


def open_plain_fts5(project_id: UUID) -> Ask:
    """The same notes in FTS5 as it comes: stems by Porter, titles count three times, any word."""
    plain = sqlite3.connect(":memory:")
    plain.execute("CREATE VIRTUAL TABLE f USING fts5(path UNINDEXED, title, body, tokenize=porter)")
    rows = notes_for(project_id).values_list("path", "title", "text")
    plain.executemany("INSERT INTO f VALUES (?, ?, ?)", rows.iterator())

    def ask(question: str) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in WORD_PATTERN.findall(question))
        statement = "SELECT path FROM f WHERE f MATCH ? ORDER BY bm25(f, 0.0, 3.0, 1.0) LIMIT ?"
        return [path for (path,) in plain.execute(statement, (words, MAX_RANK))]

    return ask
