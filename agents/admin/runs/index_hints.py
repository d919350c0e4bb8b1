"""Conditions that SQLite answers from the one index with everything in it."""

from typing import Any

from django.db.models import F, Func, Q
from django.db.models.lookups import Exact, In, IsNull


class NoIndex(Func):
    """A column that SQLite does not look up in an index of its own.

    It takes every value for a rare one, so it would read a third of the table row by row, where
    reading the whole of the index by day is ten times faster.
    """

    arity = 1
    template = "%(expressions)s"

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> Any:
        return self.as_sql(compiler, connection, template="+%(expressions)s", **more)


def equals(name: str, value: Any, *, counting: bool) -> Q:
    """Match rows that have this value (None: none). `counting`: all are read, not a page."""
    if not counting:
        return Q(**({f"{name}__isnull": True} if value is None else {name: value}))
    column = NoIndex(F(name))
    return Q(IsNull(column, True) if value is None else Exact(column, value))


def is_in(name: str, values: list[Any], *, counting: bool) -> Q:
    """Match rows that have one of these values; one alone is in order in its index."""
    if len(values) == 1:
        return equals(name, values[0], counting=counting)
    return Q(In(NoIndex(F(name)), values)) if counting else Q(**{f"{name}__in": values})
