"""A site that nobody has used yet, migrated once for all processes of a test run.

    copy_site(folder)         # a data folder: the database and the collected static files
    template = Tables(path)   # a test database, as the migrations left it
    template.put_back()
    PostgresTables()          # the same, of the database in use
    migrated_postgres()       # a PostgreSQL with the database MIGRATED, to create others from

What takes `migrate` and `collectstatic` seconds, copying files takes milliseconds.
"""

import fcntl
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from django.db import connection, transaction

from tests.support.services import Postgres

ROOT = Path(__file__).resolve().parents[2]
DATABASE = "oracle.sqlite3"
SHARED = "TEST_RUN_FOLDER"
"""The variable with the folder that all workers of a test run share."""
OURS = ("ORACLE_", "DATABASE_URL", "REDIS_URL")
MIGRATED = "migrated"


@cache
def _own_folder() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="oracle-template-")


@cache
def made_site() -> Path:
    """The data folder to copy."""
    return _made("site", _make)


def migrated_postgres() -> Postgres:
    """Raises `Missing` as `Postgres` does."""
    Postgres()
    return Postgres(_made("postgres", _migrate_postgres))


def _made(name: str, make: Callable[[Path], None]) -> Path:
    """A folder of that name. Whoever comes first makes it, the others wait."""
    shared = Path(os.environ.get(SHARED) or _own_folder().name)
    made = shared / name
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            fresh = shared / f"unfinished-{name}"
            shutil.rmtree(fresh, ignore_errors=True)
            make(fresh)
            fresh.rename(made)
    return made


def copy_site(folder: Path) -> Path:
    """The static files, which no site changes, are not copied but linked to."""
    made = made_site()
    shutil.copytree(made, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("static"))
    (folder / "static").symlink_to(made / "static")
    return folder


def _make(folder: Path) -> None:
    folder.mkdir()
    _run("tests.support.fresh", ORACLE_DATA_DIR=str(folder))


def _migrate_postgres(folder: Path) -> None:
    with Postgres() as postgres:
        _run("manage", "migrate", "--verbosity=0", DATABASE_URL=postgres.create(MIGRATED))
        postgres.keep(folder)


def _run(*module: str, **settings: str) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    subprocess.run(
        [sys.executable, "-m", *module],
        cwd=ROOT,
        env={**kept, "DJANGO_SETTINGS_MODULE": "oracle_site.settings", **settings},
        check=True,
        timeout=120,
    )


class Tables:
    """The content of a SQLite database, kept in memory to be put back after a test."""

    def __init__(self, path: str) -> None:
        self._kept = sqlite3.connect(":memory:", check_same_thread=False)
        # A connection of its own: that of a test may be in the middle of something.
        self._file = sqlite3.connect(path, timeout=20, check_same_thread=False)
        self._file.execute("PRAGMA synchronous=OFF")
        self._file.backup(self._kept)
        self._version = self._seen()

    def put_back(self) -> None:
        """Undo what any connection has committed since."""
        if self._seen() != self._version:
            self._kept.backup(self._file)
            self._version = self._seen()

    def close(self) -> None:
        self._kept.close()
        self._file.close()

    def _seen(self) -> int:
        """Another number whenever another connection has changed the file."""
        return int(self._file.execute("PRAGMA data_version").fetchone()[0])


class PostgresTables:
    """The content of the PostgreSQL database in use. Almost all of its tables are empty in the
    beginning, and after most tests."""

    def __init__(self) -> None:
        quote = connection.ops.quote_name
        with connection.cursor() as cursor:
            tables = [quote(name) for name in connection.introspection.table_names(cursor)]
            self._which = " UNION ALL ".join(
                f"SELECT '{name}' WHERE EXISTS (SELECT FROM {name})"  # noqa: S608  # names of ours
                for name in tables
            )
            cursor.execute(self._which)
            self._filled = [name for (name,) in cursor.fetchall()]
            cursor.execute("CREATE SCHEMA kept")
            for name in self._filled:
                cursor.execute(f"CREATE TABLE kept.{name} AS TABLE {name}")

    def put_back(self) -> None:
        """To empty every table, as Django does, and to fill two of them again takes much longer."""
        with transaction.atomic(), connection.cursor() as cursor:
            # Neither triggers, which refuse it, nor foreign keys.
            cursor.execute("SET LOCAL session_replication_role = replica")
            cursor.execute(self._which)
            for (name,) in cursor.fetchall():
                cursor.execute(f"DELETE FROM {name}")  # noqa: S608  # names of ours
            for name in self._filled:
                cursor.execute(f"INSERT INTO {name} SELECT * FROM kept.{name}")  # noqa: S608  # the same

    def close(self) -> None:
        """Nothing is open."""
