"""Both databases find the same: one ranking of ours orders what either of them finds."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import retrieval
from tests.support.services import Missing, Postgres

pytestmark = pytest.mark.scale
ROOT = Path(__file__).resolve().parents[3]
FOLDER = Path(__file__).parent.relative_to(ROOT)
FILES = ("test_search.py", "test_index.py", "test_bad_input.py")


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    try:
        service = Postgres()
    except Missing as missing:
        pytest.skip(str(missing))
    with service as running:
        yield running


def run(*arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_search_behaves_on_postgresql_as_on_sqlite(postgres: Postgres) -> None:
    """The same tests, in a process whose database is one."""
    files = [str(FOLDER / name) for name in FILES]
    # The database goes with its server: no need to wait for whoever still uses it.
    run(
        *("pytest", "-q", "-p", "no:cacheprovider", "--reuse-db", *files),
        DATABASE_URL=postgres.create("search"),
    )


@pytest.mark.skipif(not retrieval.FOLDER.is_dir(), reason=retrieval.MISSING)
def test_every_question_has_the_same_first_hits_on_both_databases(
    postgres: Postgres, tmp_path: Path
) -> None:
    found: dict[str, dict[str, Any]] = {}
    for name, address in (("sqlite", ""), ("postgresql", postgres.create("first_hits"))):
        folder = tmp_path / name
        folder.mkdir()
        printed = run("tests.support.first_hits", DATABASE_URL=address, ORACLE_DATA_DIR=str(folder))
        found[name] = json.loads(printed)
    for vault, answers in found["sqlite"].items():
        different = [
            question
            for question, hits in answers.items()
            if hits != found["postgresql"][vault][question]
        ]
        assert different == [], vault
