"""Tests may make up the past: rows that no run has written, and changes that no run would make."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import IntegrityError, connection

from agents.audit import db_triggers


@contextmanager
def rewritable() -> Iterator[None]:
    """Without the triggers that keep closed rows as they are."""
    installed = _installed()
    _remove()
    if (
        connection.vendor == "sqlite"
    ):  # which has triggers of other tables too: they are still there
        left = _installed()
        installed = [statement for statement in installed if statement not in left]
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            for statement in installed:
                cursor.execute(statement)


def _installed() -> list[str]:
    """What puts the triggers back. SQLite knows it; asking it is cheaper than writing it anew."""
    if connection.vendor != "sqlite":
        return list(db_triggers.install_statements(connection))
    with connection.cursor() as cursor:
        cursor.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger'")
        return [sql for (sql,) in cursor.fetchall()]


def _remove() -> None:
    with connection.cursor() as cursor:
        for statement in db_triggers.drop_statements(connection):
            cursor.execute(statement)


def made_up(request: pytest.FixtureRequest) -> Iterator[None]:
    """For fixtures: the past of tests that are rolled back can be rewritten. Those that commit have
    real runs, and triggers."""
    mark = request.node.get_closest_marker("django_db")
    commits = mark is not None and mark.kwargs.get("transaction")
    if commits or (mark is None and "db" not in request.fixturenames):
        yield
        return
    request.getfixturevalue("db")
    with _refusing_nothing():
        yield


@contextmanager
def _refusing_nothing() -> Iterator[None]:
    """The triggers go when one of them refuses something, and come back when the test is rolled
    back. Few tests need that; SQLite reads its whole schema again after each."""
    if connection.vendor != "sqlite":  # where a refusal ends the transaction
        _remove()
        yield
        return
    with connection.execute_wrapper(_retry_without_triggers):
        yield


def _retry_without_triggers(
    execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]
) -> Any:
    try:
        return execute(sql, params, many, context)
    except IntegrityError as refused:
        if many or db_triggers._REFUSAL_MESSAGE not in str(refused):
            raise
        _remove()
        return execute(sql, params, many, context)
