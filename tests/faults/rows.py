"""The database of a site, seen from outside: by another process, with a connection of its own.

A connection is opened for every look and closed again: one that stayed open would keep SQLite's
log alive over a crash of the server, which then would have nothing to recover.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from uuid import UUID

import psycopg

Row = tuple[Any, ...]


class RunState(NamedTuple):
    """What a run's row says."""

    outcome: str | None
    reason: str
    fence: int


class Rows(Protocol):
    """What differs between databases: how to ask, and whether a writer is in mid-transaction."""

    def query(self, statement: str, values: Sequence[Any] = ()) -> list[Row]: ...

    def run_id(self, run: str) -> Any: ...

    def is_held(self) -> bool: ...


class SqliteRows:
    def __init__(self, path: Path) -> None:
        self.path = path

    def query(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        with closing(sqlite3.connect(self.path, timeout=20)) as connection, connection:
            return connection.execute(statement.replace("%s", "?"), values).fetchall()

    def run_id(self, run: str) -> str:
        return UUID(run).hex

    def is_held(self) -> bool:
        """Whether somebody has the one write lock."""
        with closing(sqlite3.connect(self.path, timeout=0, isolation_level=None)) as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return True
            return False

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else can write meanwhile."""
        with closing(sqlite3.connect(self.path, timeout=20, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield
            connection.execute("ROLLBACK")


class PostgresRows:
    def __init__(self, address: str) -> None:
        self.address = address

    def query(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        with psycopg.connect(self.address) as connection:
            cursor = connection.execute(statement.encode(), values)
            return cursor.fetchall() if cursor.description else []

    def run_id(self, run: str) -> UUID:
        return UUID(run)

    def is_held(self) -> bool:
        """Whether a session waits inside a transaction, with its locks."""
        statement = (
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND state LIKE 'idle in transaction%%'"
        )
        return bool(self.query(statement)[0][0])


def state(rows: Rows, run: str) -> RunState:
    statement = "SELECT outcome, reason, fence FROM agents_agentrun WHERE id = %s"
    return RunState(*rows.query(statement, [rows.run_id(run)])[0])


def active(rows: Rows, conversation: str | None = None) -> int:
    """Runs that have not ended, of one conversation or of all."""
    statement = "SELECT count(*) FROM agents_agentrun WHERE outcome IS NULL"
    if conversation is None:
        return int(rows.query(statement)[0][0])
    values = [rows.run_id(conversation)]
    return int(rows.query(f"{statement} AND conversation_key = %s", values)[0][0])


def of_message(rows: Rows, client_message_id: str) -> int:
    """How many runs one message of a client has."""
    statement = "SELECT count(*) FROM agents_agentrun WHERE client_message_id = %s"
    return int(rows.query(statement, [client_message_id])[0][0])


def events(rows: Rows, run: str) -> list[Row]:
    """Number, kind and digest of everything that is stored of a run."""
    statement = "SELECT seq, kind, sha256 FROM agents_runevent WHERE run_id = %s ORDER BY seq"
    return rows.query(statement, [rows.run_id(run)])


def expire(rows: Rows, runs: Iterable[str]) -> None:
    """As if the processes of these runs had not renewed their leases for long."""
    for run in runs:
        statement = (
            "UPDATE agents_processlease SET renewed_at = '2000-01-01 00:00:00+00:00' "
            "WHERE id = (SELECT owner FROM agents_agentrun WHERE id = %s)"
        )
        rows.query(statement, [rows.run_id(run)])


def move_away(rows: Rows, run: str) -> None:
    """As if the process of a run were on another host."""
    statement = (
        "UPDATE agents_processlease SET host = 'elsewhere' "
        "WHERE id = (SELECT owner FROM agents_agentrun WHERE id = %s)"
    )
    rows.query(statement, [rows.run_id(run)])


def leases(rows: Rows) -> int:
    """Processes that have a lease."""
    return int(rows.query("SELECT count(*) FROM agents_processlease")[0][0])


def malformed(rows: Rows) -> int:
    """Ended runs with a gap in their numbers, or without exactly one end, at the end."""
    statement = """
        SELECT count(*) FROM (
            SELECT r.id FROM agents_agentrun r LEFT JOIN agents_runevent e ON e.run_id = r.id
            WHERE r.outcome IS NOT NULL
            GROUP BY r.id, r.last_seq
            HAVING count(e.seq) <> r.last_seq OR max(e.seq) <> r.last_seq
                OR count(CASE WHEN e.kind = 'done' AND e.seq = r.last_seq THEN 1 END) <> 1
                OR count(CASE WHEN e.kind = 'done' THEN 1 END) <> 1
        ) AS broken
    """
    return int(rows.query(statement)[0][0])
