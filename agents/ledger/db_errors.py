"""Describe in words why a database cannot be used: its disk, its rights, its locks."""

import sqlite3

from django.db import Error as DatabaseError
from django.db import InterfaceError, InternalError, OperationalError

NO_ANSWER = "The database does not answer."
NO_CONNECTION = "The database has no connection left."
LOCKED = "The database is locked by something else."
_SQLITE_MESSAGES = {
    sqlite3.SQLITE_FULL: "The server's disk is full.",
    sqlite3.SQLITE_READONLY: "The database is read-only.",
    sqlite3.SQLITE_BUSY: LOCKED,
    sqlite3.SQLITE_LOCKED: LOCKED,
    sqlite3.SQLITE_IOERR: "The server's disk cannot be read or written.",
    sqlite3.SQLITE_CANTOPEN: "The database file cannot be opened.",
    sqlite3.SQLITE_PERM: "The server may not open the database file.",
    sqlite3.SQLITE_CORRUPT: "The database file is damaged.",
    sqlite3.SQLITE_NOTADB: "The database file is damaged.",
}
_READ_ONLY_TRANSACTION = "25006"
_NO_CONNECTION_MESSAGES = (
    "too many clients",
    "too many connections",
    "connection slots are reserved",
)
"""Parts of what PostgreSQL says; a connection that is refused has no code of its error."""


def describe_database_error(error: BaseException | None) -> str:
    """Return what is the matter with the database; nothing if the error is not its fault."""
    if not isinstance(error, DatabaseError):
        return ""
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):  # its low byte is the kind, the rest says more
        code = getattr(cause, "sqlite_errorcode", None)
        return _SQLITE_MESSAGES.get(code & 0xFF, "") if code is not None else ""
    if isinstance(error, InternalError):
        is_read_only = getattr(cause, "sqlstate", "") == _READ_ONLY_TRANSACTION
        return _SQLITE_MESSAGES[sqlite3.SQLITE_READONLY] if is_read_only else ""
    if any(message in str(error) for message in _NO_CONNECTION_MESSAGES):
        return NO_CONNECTION
    return NO_ANSWER if isinstance(error, OperationalError | InterfaceError) else ""
