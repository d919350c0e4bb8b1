"""Runs that nobody drives any more: found, taken over, and ended with all they wrote.

As stopped if somebody asked for that; otherwise as interrupted if their process is gone, and if it
is this one, as our own fault.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import DataError, InterfaceError, OperationalError
from django.db.models import Exists, F

from agents import ledger
from agents.core.notify.reminders import ReminderLog
from agents.core.run_record import RunRecord
from agents.ledger import SubagentTracker
from agents.models import AgentRun, ProcessLease
from agents.runtime.endings import final_values, interrupted_chunks
from agents.runtime.reminders import settle_reminders

logger = logging.getLogger(__name__)

MAX_COLUMN_VALUE = 2**30
"""A number that fits every column, as does the sum of two."""
SECOND_LOOK_SECONDS = 6.0
"""Between two looks at a stale lease: longer than a living process takes to renew it."""
NO_LEASE = -1


@dataclass(frozen=True)
class _Look:
    """Leases that nobody seemed to renew, at one moment."""

    at: float
    own_renewals: int
    stale: Mapping[str, int]
    """How often each had been renewed; NO_LEASE for owners of runs that have none."""


class Sweeper:
    """Ends the runs that nobody drives any more. It belongs to one process, which holds a lease.

    `is_running` knows the runs of this process. It is asked after the rows were read: a run is
    known to its process before it has a row.
    """

    def __init__(self, own_lease: str, is_running: Callable[[UUID], bool]) -> None:
        self._own_lease = own_lease
        self._is_running = is_running
        self._last_look: _Look | None = None

    def has_doubts(self) -> bool:
        """Whether a lease was stale at the last look, so that a second one is due."""
        return self._last_look is not None and bool(self._last_look.stale)

    def sweep(self) -> int:
        """End every run that nobody drives any more; return how many there were."""
        active = AgentRun.objects.filter(outcome__isnull=True)
        runs = list(active.only("owner", "fence", "model"))
        dead = self._find_dead(runs)
        settled = sum(
            _recover_safely(run, self._own_lease, dead.get(run.owner))
            for run in runs
            if (run.owner in dead or run.owner == self._own_lease) and not self._is_running(run.pk)
        )
        for lease, renewals in dead.items():
            if not active.filter(owner=lease).exists():
                ProcessLease.objects.filter(pk=lease, renewals=renewals).delete()
        return settled

    def _find_dead(self, runs: Iterable[AgentRun]) -> dict[str, int]:
        """Return the leases of dead processes, with how often each was renewed.

        A process of this host is dead when it has ended; any other one when its lease was stale at
        two looks and had not been renewed between them. A look only counts if this process could
        renew its own lease since the one before: if the database stood still, others could not
        either.
        """
        leases = ledger.read_leases()
        dead = {name: lease.renewals for name, lease in leases.items() if lease.is_gone}
        stale = {name: lease.renewals for name, lease in leases.items() if lease.is_stale}
        stale |= {run.owner: NO_LEASE for run in runs if run.owner not in leases}
        own, last, now = leases.get(self._own_lease), self._last_look, time.monotonic()
        if own is None or (last is not None and not _can_follow(last, now, own.renewals)):
            return dead
        self._last_look = _Look(now, own.renewals, stale)
        if last is not None:
            dead |= {name: times for name, times in stale.items() if last.stale.get(name) == times}
        return dead


def _can_follow(last: _Look, now: float, own_renewals: int) -> bool:
    return now - last.at >= SECOND_LOOK_SECONDS and own_renewals != last.own_renewals


def describe_silence(run: AgentRun) -> str:
    """Return what to tell people of an active run whose process does not respond, else nothing."""
    if run.outcome is not None or not ledger.is_silent(run.owner):
        return ""
    end = "stopped" if run.cancel_requested_at is not None else "interrupted"
    return (
        "The server process of this run does not respond. "
        f"If it does not come back, the run ends as {end}."
    )


def _recover_safely(run: AgentRun, own_lease: str, renewals: int | None) -> bool:
    """Recover one run. One that cannot be read must not keep a server from starting."""
    try:
        return _recover(run, own_lease, renewals)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        logger.exception("run %s cannot be recovered", run.pk)
        return False


def _recover(run: AgentRun, own_lease: str, renewals: int | None) -> bool:
    """Take a run over and end it; return False if its owner is back, or another was quicker."""
    is_own = run.owner == own_lease
    taken = AgentRun.objects.filter(pk=run.pk, fence=run.fence, outcome__isnull=True)
    if renewals is not None:
        renewed = ProcessLease.objects.filter(pk=run.owner).exclude(renewals=renewals)
        taken = taken.exclude(Exists(renewed))
    if not taken.update(fence=F("fence") + 1, owner=own_lease):
        return False
    run.refresh_from_db(fields=["fence", "cancel_requested_at", "cancel_note"])
    subagents, reminders = SubagentTracker(), ReminderLog()
    record, seq = _load_record(run.pk, subagents, reminders)
    if run.cancel_requested_at is not None:
        code = "user_cancelled"
    else:
        code = "internal_error" if is_own else "interrupted"
    now = datetime.now(UTC).timestamp()
    chunks = interrupted_chunks(code, record, seq, run.model, now, run.cancel_note)
    for chunk in chunks:
        record.add(chunk)
        subagents.add(chunk)
    claim, ending, unfinished = (
        ledger.Claim(run.pk, run.fence),
        replace(final_values(record), also_store=[partial(settle_reminders, log=reminders)]),
        subagents.pop_unfinished(),
    )
    try:
        held = ledger.write([ledger.Commit(claim, chunks, ending, unfinished)])
    except (DataError, OverflowError):  # numbers that no column takes
        held = ledger.write([ledger.Commit(claim, chunks, _clamp_values(ending), unfinished)])
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
