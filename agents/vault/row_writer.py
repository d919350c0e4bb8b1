"""Rows in bulk. The ORM takes longer to build such statements than a database to run them."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Model

from agents.models import AgentRun


def insert_rows(
    model: type[Model], columns: Sequence[str], rows: Iterable[tuple[Any, ...]]
) -> None:
    """Insert rows whose values are as the database takes them."""
    many = list(rows)
    if not many:
        return
    names, marks = ", ".join(columns), ", ".join(["%s"] * len(columns))
    table = model._meta.db_table
    with connection.cursor() as cursor:
        statement = f"INSERT INTO {table} ({names}) VALUES ({marks})"  # noqa: S608  # our own names
        cursor.executemany(statement, many)


def upsert_rows(
    model: type[Model],
    columns: Sequence[str],
    rows: Iterable[tuple[Any, ...]],
    *,
    conflict: Sequence[str],
) -> list[int]:
    """Insert rows, or update those that have the same values in some columns; return their ids."""
    names = ", ".join(f'"{name}"' for name in columns)
    marks = ", ".join(["%s"] * len(columns))
    changes = ", ".join(f'"{name}" = excluded."{name}"' for name in columns if name not in conflict)
    statement = (
        f"INSERT INTO {model._meta.db_table} ({names}) VALUES ({marks}) "  # noqa: S608  # our own names
        f"ON CONFLICT ({', '.join(conflict)}) DO UPDATE SET {changes} RETURNING id"
    )
    ids: list[int] = []
    with connection.cursor() as cursor:
        for row in rows:
            cursor.execute(statement, row)
            ids.append(cursor.fetchone()[0])
    return ids


def update_rows(
    model: type[Model], columns: Sequence[str], rows: Iterable[tuple[Any, ...]]
) -> None:
    """Update rows; the last value of each is its id."""
    changes = ", ".join(f"{name} = %s" for name in columns)
    table = model._meta.db_table
    with connection.cursor() as cursor:
        cursor.executemany(f"UPDATE {table} SET {changes} WHERE id = %s", list(rows))  # noqa: S608  # the same


def delete_rows(model: type[Model], column: str, ids: Sequence[int]) -> None:
    """Delete the rows that have one of these ids in a column; nothing may depend on them."""
    table = model._meta.db_table
    with connection.cursor() as cursor:
        cursor.executemany(f"DELETE FROM {table} WHERE {column} = %s", [(id,) for id in ids])  # noqa: S608  # the same


def adapt_uuid(value: UUID | None) -> Any:
    """Return an id as the database takes it."""
    return AgentRun._meta.pk.get_db_prep_value(value, connection) if value else None


def adapt_time(value: datetime | None) -> Any:
    """Return a time as the database takes it."""
    return connection.ops.adapt_datetimefield_value(value)
