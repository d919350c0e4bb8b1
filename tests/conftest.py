"""Fixtures that every test may use."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection

from agents.models import triggers


@pytest.fixture(autouse=True, scope="session")
def tables_can_be_emptied() -> Iterator[None]:
    """Tests that commit empty all tables afterwards, which the triggers refuse on SQLite."""
    operations = type(connection.ops)
    flush: Callable[..., list[str]] = operations.sql_flush

    def without_triggers(self: Any, *args: Any, **options: Any) -> list[str]:
        if not (statements := flush(self, *args, **options)):
            return []
        before = list(triggers.removing(connection))
        return [*before, *statements, *triggers.statements(connection)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operations, "sql_flush", without_triggers)
        yield
