"""The lease of a process: one row, by which it owns all of its runs.

The row is renewed by a thread with a connection of its own, whatever the process is storing
meanwhile. Only the database's clock is used: clocks of machines are never compared.
"""

import logging
import os
import socket
import threading
import uuid
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

from django.db import DatabaseError, InterfaceError, connection
from django.db.models import DurationField, ExpressionWrapper, F
from django.db.models.functions import Now

from agents.models import ProcessLease

logger = logging.getLogger(__name__)

RENEW_SECONDS = 5.0
RETRY_SECONDS = 0.5
CLOSE_SECONDS = 5.0
"""How long a process that stops waits for a database that does not answer."""
STALE_AFTER = {"sqlite": timedelta(seconds=90), "postgresql": timedelta(seconds=30)}
"""How long a process may be silent; on SQLite longer than a lock may take."""
SILENT_AFTER = timedelta(seconds=3 * RENEW_SECONDS)
"""After so long without a renewal people are told that a process does not respond."""


class HeldLease:
    """The lease of this process. Start it before runs, and close it after them."""

    def __init__(self) -> None:
        self._identity = describe_process()
        self.id = f"{self._identity['host']}:{self._identity['pid']}:{uuid.uuid4().hex}"
        self._is_closing = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lease", daemon=True)

    def start(self) -> None:
        """Store the row, then renew it until the lease is closed."""
        self.renew()
        self._thread.start()

    def close(self) -> None:
        """Delete the row. Runs that could not be ended are then nobody's."""
        self._is_closing.set()
        if self._thread.is_alive():
            self._thread.join(CLOSE_SECONDS)

    def renew(self) -> None:
        """Store the database's time; the row too, if it is new or another process deleted it."""
        row = ProcessLease.objects.filter(pk=self.id)
        if not row.update(renewed_at=Now(), renewals=F("renewals") + 1):
            ProcessLease.objects.create(pk=self.id, renewed_at=Now(), **self._identity)

    def _keep(self) -> None:
        delay = RENEW_SECONDS
        while not self._is_closing.wait(delay):
            try:
                self.renew()
                delay = RENEW_SECONDS
            except Exception as error:
                logger.warning("the lease of this process cannot be renewed: %s", error)
                connection.close()
                delay = RETRY_SECONDS
        try:
            ProcessLease.objects.filter(pk=self.id).delete()
        except (DatabaseError, InterfaceError) as error:
            logger.warning("the lease of this process cannot be given back: %s", error)
        connection.close()


@dataclass(frozen=True, slots=True)
class SeenLease:
    """A process's lease as it was read, judged by the database's clock."""

    age: timedelta
    renewals: int
    is_gone: bool
    """Whether the process was on this host, in this PID namespace, and has ended. Of other
    processes only the age tells."""

    @property
    def is_stale(self) -> bool:
        """Whether the process may be dead. A time to come is from before the clock was set back."""
        return not -SILENT_AFTER < self.age < STALE_AFTER[connection.vendor]


def read_leases() -> dict[str, SeenLease]:
    """Return the leases of all processes by their ids."""
    age = ExpressionWrapper(Now() - F("renewed_at"), output_field=DurationField())
    return {
        lease.pk: SeenLease(lease.age, lease.renewals, _is_gone(lease))
        for lease in ProcessLease.objects.annotate(age=age)
    }


def is_silent(owner: str) -> bool:
    """Return whether the owner of an active run has ended, or does not respond."""
    lease = read_leases().get(owner)
    return lease is None or lease.is_gone or not -SILENT_AFTER < lease.age < SILENT_AFTER


def describe_process() -> dict[str, Any]:
    """Return the columns of a `ProcessLease` by which processes of its host know this one."""
    pid = os.getpid()
    return {
        "host": socket.gethostname(),
        "pid_namespace": _read_pid_namespace(),
        "pid": pid,
        "started": _read_start(pid) or "",
    }


def _is_gone(lease: ProcessLease) -> bool:
    if lease.host != socket.gethostname():
        return False
    if lease.pid_namespace not in ("", _read_pid_namespace()):
        return False  # a container may have this host's name: there the pid is another process
    try:
        os.kill(lease.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    started = _read_start(lease.pid)
    return bool(lease.started and started is not None and started != lease.started)


def _read_start(pid: int) -> str | None:
    """Return when a process of this host began; empty if it has ended, None if nothing tells."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()  # a process may have any bytes as its name
    except OSError:
        return None
    state, *rest = stat.rpartition(b")")[2].decode().split()
    return "" if state in "ZX" else rest[18]


@cache
def _read_pid_namespace() -> str:
    """Return the boot and PID namespace of this process; empty if the host does not tell."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""
