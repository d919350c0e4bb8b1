"""Rows of a run that cannot be read: pages say so, and do not break."""

import logging

import pytest
from django.db import connection

from tests.agents.admin.looking import auditor, owner
from tests.agents.admin.rows import ended, saved, seen, tampered

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
