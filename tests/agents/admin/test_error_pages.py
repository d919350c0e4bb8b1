"""Rows of a run that cannot be read: pages say so, and do not break."""

import logging

import pytest
from django.db import OperationalError, connection
from django.http import HttpRequest, HttpResponse

from agents.admin.error_pages import show_damage_page
from tests.agents.admin.factories import ended, saved, seen, tampered
from tests.agents.admin.fixtures import auditor, owner

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL takes no such values"),
]


@pytest.mark.parametrize(
    ("change", "page"),
    [
        ("day = 'never'", ""),
        ("turns = 'many'", "{}/change/"),
        ("started_at = 'once'", "replay/?replay=1"),
    ],
)
def test_a_damaged_row_is_said_to_be_one(
    change: str, page: str, caplog: pytest.LogCaptureFixture
) -> None:
    (run,) = saved(ended(*owner()))
    tampered([f"UPDATE agents_agentrun SET {change} WHERE id = '{run.pk.hex}'"])  # noqa: S608  # ours
    with caplog.at_level(logging.CRITICAL):
        text = seen(auditor(), page.format(run.pk)).text()
    assert "damaged" in text.lower()


def test_a_database_that_cannot_be_used_is_not_called_damaged() -> None:
    @show_damage_page
    def locked(request: HttpRequest) -> HttpResponse:
        raise OperationalError("database is locked")

    with pytest.raises(OperationalError):
        locked(HttpRequest())
