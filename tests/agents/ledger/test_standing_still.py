"""A process that stands still in the middle of a commit does not keep its locks."""

import pytest
from django.contrib.auth.models import User
from django.db import Error as DatabaseError
from django.db import connection, transaction

from agents import ledger
from agents.core.chunks import Content
from agents.ledger import queries
from agents.vault.row_writer import update_rows
from tests.agents.models.factories import ada, engine, run_of
from tests.support.timing import look_again


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no sessions to end")
@pytest.mark.django_db(transaction=True)
def test_postgresql_ends_a_session_that_stands_still_after_its_insert(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    user = ada()
    run = run_of(user, engine(user))
    chunks = [Content(content=f"word{seq}", seq=seq, at=1.7e9) for seq in (1, 2)]
    commit = ledger.Commit(ledger.Claim(run.pk, run.fence), chunks, None)
    session = give_up_soon()
    ended: list[bool] = []
    monkeypatch.setattr(
        queries, "_finish_commit", lambda *_: ended.append(wait_for_end_of(session))
    )
    try:
        with pytest.raises(DatabaseError):
            ledger.write([commit])
    finally:
        connection.close()
    assert ended == [True]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no sessions to end")
@pytest.mark.django_db(transaction=True)
def test_postgresql_ends_a_session_that_stands_still_after_rows_in_bulk() -> None:
    user = ada()
    session = give_up_soon()
    transaction.set_autocommit(False)
    try:
        update_rows(User, ["first_name"], [("Ada", user.pk), ("Eve", 0)])
        assert wait_for_end_of(session)
    finally:
        connection.close()


def give_up_soon() -> int:
    """Let PostgreSQL end this session when it is idle, and return it."""
    with connection.cursor() as cursor:
        cursor.execute("SET idle_in_transaction_session_timeout = '50ms'")
        cursor.execute("SELECT pg_backend_pid()")
        (session,) = cursor.fetchone()
    return int(session)


def wait_for_end_of(session: int) -> bool:
    """Stand still until another session sees that one gone."""
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            for _ in look_again():
                cursor.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", [session])
                if not cursor.fetchone():
                    return True
    finally:
        other.close()
    return False
