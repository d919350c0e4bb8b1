"""A count of the rows that a block of code fetches from the database."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from django.db import connection
from django.db.backends.utils import CursorWrapper


@dataclass
class Fetched:
    """How many rows were fetched so far."""

    rows: int = 0


@contextmanager
def count_rows() -> Iterator[Fetched]:
    """Count the rows that are fetched through Django's connection, by the ORM or without it."""
    fetched = Fetched()

    class Counting(CursorWrapper):
        def fetchone(self) -> Any:
            row = self.cursor.fetchone()
            fetched.rows += row is not None
            return row

        def fetchmany(self, *size: int) -> Any:
            return self._count(self.cursor.fetchmany(*size))

        def fetchall(self) -> Any:
            return self._count(self.cursor.fetchall())

        def _count(self, rows: list[Any]) -> list[Any]:
            fetched.rows += len(rows)
            return rows

        def __iter__(self) -> Iterator[Any]:
            for row in self.cursor:
                fetched.rows += 1
                yield row

    with patch.object(connection, "make_cursor", lambda cursor: Counting(cursor, connection)):
        yield fetched
