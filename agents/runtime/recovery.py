"""Runs that nobody drives any more: found, taken over, and ended with all they wrote.

As interrupted if their process is gone; if it is this one, as our own fault.
"""

import logging
import os
import socket
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.db import DataError, InterfaceError, OperationalError
from django.db.models import F, Q
from django.utils import timezone

from agents import ledger
from agents.core.notify.reminders import ReminderLog
from agents.core.run_record import RunRecord
from agents.ledger import SubagentTracker
from agents.models import AgentRun
from agents.runtime.endings import final_values, interrupted_chunks
from agents.runtime.reminders import settle_reminders

logger = logging.getLogger(__name__)

BOOT_ID = uuid.uuid4().hex
MAX_COLUMN_VALUE = 2**30
"""A number that fits every column, as does the sum of two."""


def process_owner_id() -> str:
    """Return an id of this process, different from all others, also after a restart."""
    return f"{socket.gethostname()}:{os.getpid()}:{BOOT_ID}"


def sweep(lease_duration: timedelta, is_running: Callable[[UUID], bool]) -> int:
    """End every run that nobody drives any more; how many there were.

    `is_running` knows the runs of this process. It is asked after the rows were read: a run is
    known to its process before it has a row.
    """
    return sum(_recover_safely(run, lease_duration) for run in _find_abandoned(is_running))


def _recover_safely(run: AgentRun, lease_duration: timedelta) -> bool:
    """Recover one run. One that cannot be read must not keep a server from starting."""
    try:
        return _recover(run, lease_duration)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        logger.exception("run %s cannot be recovered", run.pk)
        return False


def _find_abandoned(is_running: Callable[[UUID], bool]) -> list[AgentRun]:
    """Find active runs with an expired lease, or dropped by a process of this host."""
    now = timezone.now()
    expired, local = Q(lease_until__lt=now), Q(owner__startswith=f"{socket.gethostname()}:")
    found = AgentRun.objects.filter(expired | local, outcome__isnull=True)
    return [
        run
        for run in found
        if not is_running(run.pk)
        and (
            run.owner == process_owner_id() or _is_owner_dead(run.owner) or not _is_leased(run, now)
        )
    ]


def _is_leased(run: AgentRun, now: datetime) -> bool:
    return run.lease_until is not None and run.lease_until > now


def _is_owner_dead(name: str) -> bool:
    """Return whether an owner on this host has gone. Of other hosts only the lease tells."""
    host, pid, boot = name.rsplit(":", 2)
    if host != socket.gethostname():
        return False
    if int(pid) == os.getpid():
        return boot != BOOT_ID
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _recover(run: AgentRun, lease_duration: timedelta) -> bool:
    """Take a run over and end it. False when somebody else was quicker."""
    taken = AgentRun.objects.filter(pk=run.pk, fence=run.fence, outcome__isnull=True).update(
        fence=F("fence") + 1, owner=process_owner_id(), lease_until=timezone.now() + lease_duration
    )
    if not taken:
        return False
    subagents, reminders = SubagentTracker(), ReminderLog()
    record, seq = _load_record(run.pk, subagents, reminders)
    code = "internal_error" if run.owner == process_owner_id() else "interrupted"
    chunks = interrupted_chunks(code, record, seq, run.model, datetime.now(UTC).timestamp())
    for chunk in chunks:
        record.add(chunk)
        subagents.add(chunk)
    hold, ending, unfinished = (
        ledger.Lease(run.pk, run.fence + 1),
        replace(final_values(record), also_store=[partial(settle_reminders, log=reminders)]),
        subagents.pop_unfinished(),
    )
    try:
        held = ledger.write([ledger.Commit(hold, chunks, ending, unfinished)], lease_duration)
    except (DataError, OverflowError):  # numbers that no column takes
        held = ledger.write(
            [ledger.Commit(hold, chunks, _clamp_values(ending), unfinished)], lease_duration
        )
    return run.pk in held


def _clamp_values(ending: ledger.FinalValues) -> ledger.FinalValues:
    """Make numbers fit: they are wrong, but the end of the run is not."""
    tools = [_clamp_numbers(tool) for tool in ending.tools]
    return replace(ending, values=_clamp_numbers(ending.values), tools=tools)


def _clamp_numbers(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: min(value, MAX_COLUMN_VALUE) if isinstance(value, int) else value
        for name, value in values.items()
    }


def _load_record(
    run_id: UUID, subagents: SubagentTracker, reminders: ReminderLog
) -> tuple[RunRecord, int]:
    """Return a run's record from its rows, and its newest number; the others hear of them too."""
    record, seq = RunRecord(), 0
    for page in ledger.iter_pages(run_id):
        seq = page.last_seq
        for chunk in page.chunks:
            record.add(chunk)
            subagents.add(chunk)
            reminders.add(chunk)
    return record, seq
