"""The audit's rows on PostgreSQL: its triggers are other ones, and it writes JSON its own way."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.services import Missing, Postgres

ROOT = Path(__file__).resolve().parents[3]
FILES = {
    "audit": (
        "tests/agents/test_replay_source.py",
        "tests/agents/audit/test_verify.py",
        "tests/agents/audit/test_db_triggers.py",
    ),
    "subagents": (
        "tests/agents/ledger/test_subagents.py",
        "tests/agents/runtime/test_recovery.py",
    ),
    "migrations": ("tests/agents/migrations/test_from_a11961e.py",),
}


@pytest.mark.early
@pytest.mark.scale
@pytest.mark.parametrize("name", FILES)
def test_what_was_recorded_is_kept_on_postgresql_too(name: str) -> None:
    """The same tests, in a process whose database is one."""
    try:
        service = Postgres()
    except Missing as missing:
        pytest.skip(str(missing))
    with service as postgres:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *FILES[name]],
            cwd=ROOT,
            env={**os.environ, "DATABASE_URL": postgres.create("audit")},
            capture_output=True,
            text=True,
            timeout=300,
        )
    assert done.returncode == 0, done.stdout[-3000:]
