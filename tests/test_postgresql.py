"""What is true on SQLite is true on PostgreSQL: the same tests, in a process whose database is one.

Statements of our own, triggers, JSON, what is refused and what really happens at the same time
differ there. All have copies of one database, which is migrated once.
"""

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
from tests.support.template import MIGRATED, migrated_postgres

pytestmark = [pytest.mark.scale, pytest.mark.early]
ROOT = Path(__file__).resolve().parents[1]
PROCESSES = 3
FILES = (
    # what was recorded
    "test_words_everywhere.py",
    *(f"agents/test_{name}.py" for name in ("replay_source", "rule_firings", "rule_log")),
    *(f"agents/audit/test_{name}.py" for name in ("verify", "db_triggers", "written_elsewhere")),
    "agents/endpoints/test_model_settings.py",
    "agents/ledger/test_refused_rows.py",
    *(f"agents/projects/test_{name}.py" for name in ("races", "purge")),
    "agents/migrations/test_from_a11961e.py",
    # runs
    *(f"agents/ledger/test_{name}.py" for name in ("leases", "subagents", "standing_still")),
    *(
        f"agents/runtime/test_{name}.py"
        for name in ("recovery", "sweeper", "behaviours", "modes", "control", "control_rows")
    ),
    "agents/tools/test_blocking.py",
    # approvals
    *(f"agents/approvals/test_{name}.py" for name in ("changes", "requests", "resume")),
    *(f"chat/{name}/test_approvals.py" for name in ("services", "api")),
    # behaviours
    "agents/test_behaviour_service.py",
    # notes
    *(
        f"agents/vault/test_{name}.py"
        for name in (
            *("notes", "importer", "links", "moves", "versions", "listing"),
            *("note_writer", "threads", "link_texts", "note_search"),
        )
    ),
    "agents/tools/test_summary_cache.py",
    # code
    *(
        f"agents/code/test_{name}.py"
        for name in (
            *("importer", "listing", "project_code"),
            *("line_search", "sources", "parser_process"),
        )
    ),
    # search
    *(f"agents/search/test_{name}.py" for name in ("search", "index", "bad_input")),
)


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    try:
        service = migrated_postgres()
    except Missing as missing:
        pytest.skip(str(missing))
    with service as running:
        yield running


def run_module(*arguments: str, **environment: str) -> str:
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


def test_the_same_holds_on_postgresql(postgres: Postgres) -> None:
    for number in range(PROCESSES):
        postgres.create(f"test_same_gw{number}", MIGRATED)  # as pytest-django names it
    run_module(
        *("pytest", "-q", "-p", "no:cacheprovider", "--reuse-db"),
        *("--processes", str(PROCESSES), *(f"tests/{name}" for name in FILES)),
        DATABASE_URL=postgres.address("same"),
    )


@pytest.mark.skipif(not retrieval.FOLDER.is_dir(), reason=retrieval.MISSING)
def test_every_question_has_the_same_first_hits_on_both_databases(
    postgres: Postgres, tmp_path: Path
) -> None:
    found: dict[str, dict[str, Any]] = {}
    for name, address in (("sqlite", ""), ("postgresql", postgres.create("hits", MIGRATED))):
        folder = tmp_path / name
        folder.mkdir()
        printed = run_module(
            "tests.support.first_hits", DATABASE_URL=address, ORACLE_DATA_DIR=str(folder)
        )
        found[name] = json.loads(printed)
    for vault, answers in found["sqlite"].items():
        different = [
            question
            for question, hits in answers.items()
            if hits != found["postgresql"][vault][question]
        ]
        assert different == [], vault
