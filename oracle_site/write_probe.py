"""A trial write: the only way to know that the database takes one."""

import logging
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

from django.db import Error as DatabaseError
from django.db import connection
from django.utils import timezone

from agents.ledger import LOCKED, NO_ANSWER, describe_database_error
from chat.models import TrialWrite

logger = logging.getLogger(__name__)

CACHE_SECONDS = 1.0
"""How long one trial serves everybody who asks: probes must not be a way to keep the disk busy."""
TIMEOUT_SECONDS = 2.0
"""After so long without an answer SQLite counts as locked, and PostgreSQL as standing still."""


def try_to_write() -> str:
    """Write something and return what kept it from being stored, in words; nothing if it was."""
    try:
        now = timezone.now()
        if not TrialWrite.objects.filter(pk=1).update(at=now):
            TrialWrite.objects.update_or_create(pk=1, defaults={"at": now})
    except DatabaseError as error:
        return describe_database_error(error) or NO_ANSWER
    finally:
        connection.close()  # the next one shall see the file as it is then
    return ""


class WriteProbe:
    """One trial at a time, in a thread of its own; whoever asks meanwhile shares it."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "trial write")
        self._lock = threading.Lock()
        self._result: Future[str] | None = None
        self._began = self._ended = 0.0
        self._last = ""

    def find_problem(self) -> str:
        """Return why nothing can be written now; nothing if it can. Never waits for long."""
        with self._lock:
            if self._result is None or (self._result.done() and self._is_stale()):
                self._began = time.monotonic()
                self._result = self._pool.submit(self._write)
            result = self._result
            patience = self._began + TIMEOUT_SECONDS - time.monotonic()
        try:
            return result.result(max(0.0, patience))
        except TimeoutError:
            return LOCKED if connection.vendor == "sqlite" else NO_ANSWER

    def _is_stale(self) -> bool:
        return time.monotonic() - self._ended > CACHE_SECONDS

    def _write(self) -> str:
        trouble = try_to_write()
        if trouble != self._last:
            logger.warning(
                "nothing can be stored: %s" if trouble else "writes work again%s", trouble
            )
        self._last, self._ended = trouble, time.monotonic()
        return trouble


write_probe = WriteProbe()
