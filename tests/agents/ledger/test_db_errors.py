"""What a database's errors are called, by the errors of a real one."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from django.db import InterfaceError, InternalError, OperationalError, ProgrammingError
from django.db.backends.sqlite3.base import DatabaseWrapper

from agents.ledger.db_errors import LOCKED, NO_ANSWER, NO_CONNECTION, describe_database_error

pytestmark = pytest.mark.django_db  # on a database of our own, but on one


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with closing(sqlite3.connect(tmp_path / "a.sqlite3")) as made:
        made.execute("CREATE TABLE notes (text)")
    return tmp_path / "a.sqlite3"


@pytest.fixture
def database(path: Path) -> Iterator[DatabaseWrapper]:
    settings = {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        "OPTIONS": {"timeout": 0},
        "TIME_ZONE": None,
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": False,
        "AUTOCOMMIT": True,
        "ATOMIC_REQUESTS": False,
        "TEST": {},
    }
    wrapper = DatabaseWrapper(settings, "trouble")
    yield wrapper
    wrapper.close()


def trouble_of(database: DatabaseWrapper, *statements: str) -> str:
    *before, last = statements
    with database.cursor() as cursor:
        for statement in before:
            cursor.execute(statement)
        with pytest.raises(OperationalError) as caught:
            cursor.execute(last)
    return describe_database_error(caught.value)


def test_a_full_disk(database: DatabaseWrapper) -> None:
    limit = "PRAGMA max_page_count = 3"
    assert "full" in trouble_of(database, limit, "INSERT INTO notes VALUES (zeroblob(9999))")


def test_a_database_that_may_only_be_read(database: DatabaseWrapper) -> None:
    assert "read-only" in trouble_of(database, "PRAGMA query_only = 1", "DELETE FROM notes")


def test_a_locked_database(database: DatabaseWrapper, path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert trouble_of(database, "DELETE FROM notes") == LOCKED


def test_a_file_that_is_no_database(database: DatabaseWrapper, path: Path) -> None:
    path.write_bytes(b"This is a letter, not a database. " * 100)
    with pytest.raises(Exception, match="not a database") as caught, database.cursor() as cursor:
        cursor.execute("SELECT * FROM notes")
    assert "damaged" in describe_database_error(caught.value)


def test_a_mistake_in_a_statement_is_not_the_databases_fault(database: DatabaseWrapper) -> None:
    assert trouble_of(database, "SELECT * FROM nothing") == ""


@pytest.mark.parametrize("error", [OperationalError("away"), InterfaceError("closed")])
def test_a_server_that_is_away(error: Exception) -> None:
    assert describe_database_error(error) == NO_ANSWER


@pytest.mark.parametrize(
    "said",
    [
        "FATAL:  sorry, too many clients already",
        'FATAL:  too many connections for role "oracle"',
        "FATAL:  remaining connection slots are reserved for roles with the SUPERUSER attribute",
    ],
)
def test_a_server_that_has_no_connection_left(said: str) -> None:
    assert describe_database_error(OperationalError(said)) == NO_CONNECTION


class ReadOnly(Exception):
    """As psycopg raises it on a standby."""

    sqlstate = "25006"


def test_a_server_that_only_reads() -> None:
    error = InternalError("cannot execute UPDATE in a read-only transaction")
    error.__cause__ = ReadOnly()
    assert "read-only" in describe_database_error(error)


@pytest.mark.parametrize(
    "error", [None, ValueError("x"), ProgrammingError("x"), InternalError("x")]
)
def test_other_errors_are_not_explained(error: Exception | None) -> None:
    assert describe_database_error(error) == ""
