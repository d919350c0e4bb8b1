"""Tests may make up the past: rows that no run has written, and changes that no run would make."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection

from agents.models import triggers


@contextmanager
def rewritable() -> Iterator[None]:
    """Without the triggers that keep closed rows as they are."""
    with connection.cursor() as cursor:
        for statement in triggers.removing(connection):
            cursor.execute(statement)
    try:
        yield
    finally:
        triggers.install(connection)


def made_up(request: pytest.FixtureRequest) -> Iterator[None]:
    """For fixtures: the past of tests that are rolled back can be rewritten. Those that commit have
    real runs, and triggers."""
    mark = request.node.get_closest_marker("django_db")
    commits = mark is not None and mark.kwargs.get("transaction")
    if commits or (mark is None and "db" not in request.fixturenames):
        yield
        return
    request.getfixturevalue("db")
    with rewritable():
        yield
