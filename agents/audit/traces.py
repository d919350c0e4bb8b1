"""Remove the bytes of erased text from SQLite's file: from its full-text index and from its log.

    transaction.on_commit(empty_log)        # after rows were erased
    transaction.on_commit(empty_log_soon)   # the same, in another thread
    transaction.on_commit(clear_traces)     # after indexed texts were removed, too

SQLite overwrites a deleted row by itself (`PRAGMA secure_delete`). PostgreSQL keeps old versions
of rows until it is told to rewrite its tables: docs/audit.md says how. There, nothing is done here.
"""

import logging
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection
from django.db.backends.utils import CursorWrapper

from agents.models.search import SearchDocument, SearchSection

logger = logging.getLogger(__name__)

MERGE_PAGES = 64
"""Pages of an index that are written in one transaction, so that other writers wait briefly."""
LOG_TRIES = 20
LOG_WAIT_MS = 50
"""Milliseconds that one try waits for readers of the log, and pause before the next try."""
MERGED_FILE = "index-merged"
"""A file of the data folder: its time is when the index was merged."""
MERGE_SECONDS = 60 * 60.0

_log_thread = ThreadPoolExecutor(1, "empty the log")
"""Waited for when the process ends."""
_queued: "Future[None] | None" = None
"""The newest call of that thread, which may have begun or ended."""


def clear_traces() -> None:
    """Remove the words of deleted texts from the full-text index, then empty the log.

    What the database refuses now is logged, and done by the server within a day.
    """
    if connection.vendor != "sqlite":
        return
    try:
        for model in (SearchDocument, SearchSection):
            _merge_index(f"{model._meta.db_table}_fts")
        with suppress(OSError):  # then it is done at the next start, too
            (settings.DATA_DIR / MERGED_FILE).touch()
    except DatabaseError as error:
        logger.warning("words of deleted texts are still in the search index: %s", error)
    empty_log()


def clear_traces_daily() -> None:
    """Do what `clear_traces` does, but leave the index as it is if it was merged within the hour.

    Merging rewrites the whole index: a server that starts again and again does not.
    """
    try:
        age = time.time() - (settings.DATA_DIR / MERGED_FILE).stat().st_mtime
    except OSError:
        age = MERGE_SECONDS
    if abs(age) < MERGE_SECONDS:
        empty_log()
    else:
        clear_traces()


def empty_log() -> None:
    """Move SQLite's log into its file and truncate it: it holds earlier versions of rows."""
    if connection.vendor != "sqlite":
        return
    try:
        is_empty = any(_truncate_log() for _ in range(LOG_TRIES))
    except DatabaseError as error:
        logger.warning("erased text is still in the database's log: %s", error)
        return
    if not is_empty:
        logger.warning("erased text is still in the database's log: a reader needs it")


def empty_log_soon() -> None:
    """Empty SQLite's log in a thread of its own. It waits up to seconds for readers of the log.

    Calls that come before it has begun share one.
    """
    global _queued
    if connection.vendor != "sqlite" or _is_waiting(_queued):
        return
    _queued = _log_thread.submit(_empty_log_apart)


def _is_waiting(queued: "Future[None] | None") -> bool:
    return queued is not None and not queued.running() and not queued.done()


def _empty_log_apart() -> None:
    try:
        empty_log()
    finally:
        connection.close()


def _merge_index(table: str) -> None:
    """Merge an index into one segment. FTS5 only marks words as deleted until it merges."""
    pages = -MERGE_PAGES  # negative: begin to merge all segments; positive: go on with it
    with connection.cursor() as cursor:
        while _count_changes(cursor, table, pages) > 1:  # SQLite's manual: then it is done
            pages = MERGE_PAGES


def _count_changes(cursor: CursorWrapper, table: str, pages: int) -> int:
    """Merge some pages, and return how many rows that wrote."""
    (before,) = cursor.execute("SELECT total_changes()").fetchone()
    statement = f"INSERT INTO {table}({table}, rank) VALUES ('merge', %s)"  # noqa: S608  # our own names
    cursor.execute(statement, [pages])
    (after,) = cursor.execute("SELECT total_changes()").fetchone()
    return int(after - before)


def _truncate_log() -> bool:
    """Return whether the log could be truncated. A reader of an earlier version prevents it.

    The log is moved into the file first, because nobody can write while it is truncated.
    """
    with connection.cursor() as cursor:
        (patience,) = cursor.execute("PRAGMA busy_timeout").fetchone()
        cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")
        cursor.execute(f"PRAGMA busy_timeout = {LOG_WAIT_MS}")
        try:
            is_busy, *_ = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {patience}")
    if is_busy:
        time.sleep(LOG_WAIT_MS / 1_000)
    return not is_busy
