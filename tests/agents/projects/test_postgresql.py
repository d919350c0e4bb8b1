"""Two at the same time, on a database where they really are at the same time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.services import Missing, Postgres

ROOT = Path(__file__).resolve().parents[3]
FILES = ("tests/agents/projects/test_races.py", "tests/agents/projects/test_purge.py")


@pytest.mark.scale
def test_links_owners_and_purging_are_the_same_on_postgresql() -> None:
    try:
        service = Postgres()
    except Missing as missing:
        pytest.skip(str(missing))
    with service as postgres:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--reuse-db", *FILES],
            cwd=ROOT,
            env={**os.environ, "DATABASE_URL": postgres.create("projects")},
            capture_output=True,
            text=True,
            timeout=300,
        )
    assert done.returncode == 0, done.stdout[-3000:]
