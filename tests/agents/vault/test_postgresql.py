"""Notes on PostgreSQL: the rows are written by statements of our own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.services import Missing, Postgres

ROOT = Path(__file__).resolve().parents[3]
NAMES = (
    *("notes", "importer", "links", "moves", "versions", "listing", "note_writer", "threads"),
    *("link_texts", "note_search"),
)
SUMMARIES = "tests/agents/tools/test_summary_cache.py"
"""They keep places of notes as JSON, which PostgreSQL gives back in another order."""


@pytest.mark.scale
def test_notes_are_kept_on_postgresql_too() -> None:
    """The same tests, in a process whose database is one."""
    try:
        service = Postgres()
    except Missing as missing:
        pytest.skip(str(missing))
    files = [SUMMARIES, *(f"tests/agents/vault/test_{name}.py" for name in NAMES)]
    with service as postgres:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-p",
                "no:cacheprovider",
                "-m",
                "not ci",
                *files,
            ],
            cwd=ROOT,
            env={**os.environ, "DATABASE_URL": postgres.create("vault")},
            capture_output=True,
            text=True,
            timeout=300,
        )
    assert done.returncode == 0, done.stdout[-3000:]
