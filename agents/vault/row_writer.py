"""Rows in bulk. The ORM takes longer to build such statements than a database to run them."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import chain
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Model

from agents.models import AgentRun

MAX_STATEMENT_ROWS = 100


def insert_rows(
    model: type[Model], columns: Sequence[str], rows: Iterable[tuple[Any, ...]]
) -> None:
    """Insert rows whose values are as the database takes them."""
    many = list(rows)
    if not many:
        return
    names, marks = ", ".join(columns), ", ".join(["%s"] * len(columns))
    table = model._meta.db_table
    _execute_many(f"INSERT INTO {table} ({names}) VALUES ({marks})", many)  # noqa: S608  # our own names


def upsert_rows(
    model: type[Model],
    columns: Sequence[str],
    rows: Iterable[tuple[Any, ...]],
    *,
    conflict: Sequence[str],
) -> list[int]:
    """Insert rows, or update those that have the same values in some columns; return their ids.

    By the last of those columns the rows are told apart; of equal ones the last counts.
    """
    many, key = list(rows), columns.index(conflict[-1])
    different = list({row[key]: row for row in many}.values())
    names = ", ".join(f'"{name}"' for name in columns)
    marks = f"({', '.join(['%s'] * len(columns))})"
    changes = ", ".join(f'"{name}" = excluded."{name}"' for name in columns if name not in conflict)
    ids: dict[Any, int] = {}
    with connection.cursor() as cursor:
        for start in range(0, len(different), MAX_STATEMENT_ROWS):
            part = different[start : start + MAX_STATEMENT_ROWS]
            statement = (
                f"INSERT INTO {model._meta.db_table} ({names}) "  # noqa: S608  # our own names
                f"VALUES {', '.join([marks] * len(part))} ON CONFLICT ({', '.join(conflict)}) "
                f'DO UPDATE SET {changes} RETURNING "{conflict[-1]}", id'
            )
            cursor.execute(statement, list(chain.from_iterable(part)))
            ids.update(cursor.fetchall())
    return [ids[row[key]] for row in many]


def update_rows(
    model: type[Model], columns: Sequence[str], rows: Iterable[tuple[Any, ...]]
) -> None:
    """Update rows; the last value of each is its id."""
    changes = ", ".join(f"{name} = %s" for name in columns)
    table = model._meta.db_table
    _execute_many(f"UPDATE {table} SET {changes} WHERE id = %s", list(rows))  # noqa: S608  # the same


def delete_rows(model: type[Model], column: str, ids: Sequence[int]) -> None:
    """Delete the rows that have one of these ids in a column; nothing may depend on them."""
    table = model._meta.db_table
    _execute_many(f"DELETE FROM {table} WHERE {column} = %s", [(id,) for id in ids])  # noqa: S608  # the same


def _execute_many(statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Run a statement for each row.

    PostgreSQL counts a session as idle only from the next one on. It would not end one that stands
    still right here, and its locks would stay.
    """
    with connection.cursor() as cursor:
        cursor.executemany(statement, rows)
        if connection.vendor == "postgresql":
            cursor.execute("SELECT 1")


def adapt_uuid(value: UUID | None) -> Any:
    """Return an id as the database takes it."""
    return AgentRun._meta.pk.get_db_prep_value(value, connection) if value else None


def adapt_time(value: datetime | None) -> Any:
    """Return a time as the database takes it."""
    return connection.ops.adapt_datetimefield_value(value)
