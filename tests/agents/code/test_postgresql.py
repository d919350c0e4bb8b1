"""Code on PostgreSQL: import, search, definitions, references and the map."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.services import Missing, Postgres

ROOT = Path(__file__).resolve().parents[3]
NAMES = ("importer", "listing", "project_code", "line_search", "sources", "parser_process")


@pytest.mark.scale
def test_code_is_kept_on_postgresql_too() -> None:
    """The same tests, in a process whose database is one."""
    try:
        service = Postgres()
    except Missing as missing:
        pytest.skip(str(missing))
    files = [f"tests/agents/code/test_{name}.py" for name in NAMES]
    with service as postgres:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files],
            cwd=ROOT,
            env={**os.environ, "DATABASE_URL": postgres.create("code")},
            capture_output=True,
            text=True,
            timeout=300,
        )
    assert done.returncode == 0, done.stdout[-3000:]
