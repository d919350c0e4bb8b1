"""What PostgreSQL refuses is not what SQLite refuses: other numbers, other errors."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.services import Missing, Postgres

ROOT = Path(__file__).resolve().parents[3]
FILE = "tests/agents/ledger/test_refused_rows.py"


@pytest.mark.scale
def test_what_is_refused_ends_one_run_on_postgresql_too() -> None:
    """The same tests, in a process whose database is one."""
    try:
        service = Postgres()
    except Missing as missing:
        pytest.skip(str(missing))
    with service as postgres:
        done = subprocess.run(
            # The database goes with its server: no need to wait for whoever still uses it.
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--reuse-db", FILE],
            cwd=ROOT,
            env={**os.environ, "DATABASE_URL": postgres.create("refused")},
            capture_output=True,
            text=True,
            timeout=300,
        )
    assert done.returncode == 0, done.stdout[-3000:]
