"""The one writer of a process: new events of all runs are committed together, then told of.

The first text of a run and everything urgent (tools, notices, the end) go at once, at most every
18 ms; the rest waits up to 4 ms for company. What a reader can see has been committed: readers get
rows, or what was just stored as one.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from django.db import InterfaceError, OperationalError

from agents.audit.event_codec import EncodedEvent
from agents.core.chunks import Content, Done, OracleStreamChunk
from agents.core.tasks import spawn, stop
from agents.ledger import queries
from agents.ledger.db_errors import NO_ANSWER, describe_database_error
from agents.ledger.db_executor import DatabaseExecutor
from agents.ledger.subagents import SubagentTracker

logger = logging.getLogger(__name__)
T = TypeVar("T")

GATHER_SECONDS = 0.004
"""How long text waits for other events. What is read of several runs at the same moment of the grid
(agents/llm/transport/pacing.py) is here within it."""
PACE_SECONDS = 0.018
"""From the beginning of one commit to the next at least: what is urgent in between shares it."""
STATUS_SECONDS = 0.15
"""How often it is read whether runs are to be cancelled, or were taken over."""
RETRY_SECONDS = 0.1
MAX_PENDING = 2_000
"""Events that may wait for a slow database before runs have to wait with them."""


CLOSE_SECONDS = 20.0
"""How long a process that stops waits for a database that does not answer."""


TAKEN_OVER = "another process has taken it over"
REFUSED = "the database refuses something in it"
STOPPED = "this process has stopped"


class LedgerClosed(Exception):
    """Raised when a run is no longer written. The message is why, and has been logged."""


@dataclass(eq=False)
class OwnedRun:
    """A run of this process. What happens to it is told in the event loop."""

    claim: queries.Claim
    on_cancel: Callable[[str], None]
    """Somebody wants it to stop, and may say why."""
    on_lost: Callable[[], None]
    """Another process took it over, or the database refuses what it wrote; then as much of that as
    it takes is stored, and the run is for whoever settles it."""
    on_stalled: Callable[[], None]
    """The database has not answered for too long. What was written is kept until it does."""
    closed: str = ""
    """Why nothing more is written of it; empty while it is."""
    committed_seq: int = 0
    """The highest number that is committed."""
    chunks: list[OracleStreamChunk] = field(default_factory=list)
    """Not yet committed."""
    final: queries.FinalValues | None = None
    subagents: SubagentTracker = field(default_factory=SubagentTracker)
    has_text: bool = False


class Writer:
    """Start it, append to it, close it. After each commit `notify` gets {run id: newest number},
    and before that `keep` what was stored of each run; nothing of one that was lost."""

    def __init__(
        self,
        notify: Callable[[dict[UUID, int]], None],
        stall_seconds: float = 60.0,
        keep: Callable[[UUID, Sequence[EncodedEvent]], None] | None = None,
    ) -> None:
        self._notify = notify
        self._keep = keep
        self._stall_seconds = stall_seconds
        self._runs: dict[UUID, OwnedRun] = {}
        self._pending = 0
        self._has_pending = asyncio.Event()
        self._has_urgent = asyncio.Event()
        self._committed = asyncio.Condition()
        self._database = DatabaseExecutor(1, "ledger writer")
        # Apart from what is being written, which may take long: reading never has to wait for it.
        self._status_database = DatabaseExecutor(1, "ledger status")
        self._task: asyncio.Task[None] | None = None
        self._watch_task: asyncio.Task[None] | None = None
        self._give_up_at: float | None = None
        self.last_error = ""
        """Why the last write failed, in words; empty if it did not."""
        self.is_stalled = False
        """Whether the database has not answered for longer than runs can wait."""

    def start(self) -> None:
        self._task = spawn(self._run(), "ledger writer")
        self._watch_task = spawn(self._watch(), "ledger status")

    def add_run(self, run: OwnedRun) -> None:
        self._runs[run.claim.run_id] = run

    def append(
        self, run: OwnedRun, chunk: OracleStreamChunk, final: queries.FinalValues | None = None
    ) -> None:
        """Take a chunk, to be committed soon. Call `wait_for_capacity` before the next."""
        if run.closed:
            raise LedgerClosed(run.closed)
        run.chunks.append(chunk)
        run.subagents.add(chunk)
        run.final = final or run.final
        self._pending += 1
        self._has_pending.set()
        if chunk.traits.urgent or (not run.has_text and isinstance(chunk, Content)):
            self._has_urgent.set()
            run.has_text = run.has_text or isinstance(chunk, Content)

    async def wait_for_capacity(self, run: OwnedRun) -> None:
        """Wait while too much is waiting already: a slow database slows runs down, not us."""
        while self._pending >= MAX_PENDING and not run.closed:
            async with self._committed:
                await self._committed.wait()

    async def wait_committed(self, run: OwnedRun, seq: int) -> None:
        """Wait until a number of a run is committed."""
        async with self._committed:
            await self._committed.wait_for(lambda: run.committed_seq >= seq or run.closed)
        if run.committed_seq < seq:
            raise LedgerClosed(run.closed)

    async def close(self) -> None:
        """Write what is pending, then stop."""
        self._give_up_at = asyncio.get_running_loop().time() + CLOSE_SECONDS
        self._has_pending.set()
        self._has_urgent.set()
        if self._task is not None:
            await asyncio.wait([self._task])
        if self._watch_task is not None:
            await stop([self._watch_task], 1.0)
        for run in self._runs.values():
            _close_run(run, STOPPED)
        await self._tell_waiting()
        await self._database.close()
        await self._status_database.close()

    async def _run(self) -> None:
        clock = asyncio.get_running_loop().time
        began_at = 0.0
        while self._give_up_at is None:
            await self._has_pending.wait()
            await _wait_for_event(GATHER_SECONDS, self._has_urgent)
            await asyncio.sleep(began_at + PACE_SECONDS - clock())
            began_at = clock()
            await self._run_safely(self._flush)
        await self._run_safely(self._flush)

    async def _run_safely(self, step: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Survive a bad commit: later ones may be better."""
        try:
            await step()
        except Exception:
            logger.exception("the ledger cannot write")
            await asyncio.sleep(RETRY_SECONDS)

    async def _flush(self) -> None:
        self._has_pending.clear()
        self._has_urgent.clear()
        writing = [(run, run.chunks, run.final) for run in self._runs.values() if run.chunks]
        if not writing:
            return
        for run, _, _ in writing:
            run.chunks, run.final = [], None
        held = await self._write(
            [
                queries.Commit(r.claim, new, final, r.subagents.pop_unfinished())
                for r, new, final in writing
            ]
        )
        self._pending -= sum(len(new) for _, new, _ in writing)
        for run, new, final in writing:
            if (stored := held.get(run.claim.run_id)) is None:
                self._drop_run(run)
                continue
            run.committed_seq = new[-1].seq
            if self._keep is not None:
                self._keep(run.claim.run_id, stored.stored)
            if final is not None:
                self._runs.pop(run.claim.run_id, None)
        await self._tell_waiting()
        self._notify({run.claim.run_id: run.committed_seq for run, _, _ in writing})

    async def _tell_waiting(self) -> None:
        """Wake whoever waits for a commit, or for room: something was stored, or dropped."""
        async with self._committed:
            self._committed.notify_all()

    async def _watch(self) -> None:
        """Hear of cancellations and lost runs, also while much is written or nothing can be."""
        while True:
            await asyncio.sleep(STATUS_SECONDS)
            try:
                await self._read_statuses()
            except (OperationalError, InterfaceError):
                pass  # whoever writes says so
            except Exception:
                logger.exception("the ledger cannot read whether runs are to be cancelled")

    async def _read_statuses(self) -> None:
        runs = list(self._runs.values())
        if not runs:
            return
        statuses = await self._status_database.run(
            partial(queries.read_statuses, [run.claim.run_id for run in runs])
        )
        for run in runs:
            status = statuses.get(run.claim.run_id)
            if status is None or status.fence != run.claim.fence:
                self._drop_run(run)
                await self._tell_waiting()
            elif status.is_cancelled:
                run.on_cancel(status.cancel_note)

    async def _write(self, commits: Sequence[queries.Commit]) -> queries.HeldRuns:
        """Commit together. What a database refuses is one run's fault, not that of the others."""
        try:
            return await self._with_retry(partial(queries.write, commits))
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            if len(commits) == 1:
                logger.exception("run %s cannot be stored as it is", commits[0].claim.run_id)
                await self._salvage(commits[0])
                return {}
        held: queries.HeldRuns = {}
        for commit in commits:
            held |= await self._write([commit])
        return held

    async def _salvage(self, commit: queries.Commit) -> None:
        """Store what the database takes of a run that is to be ended, but for its last words."""
        written = list(commit.chunks)
        if (run := self._runs.get(commit.claim.run_id)) is not None:
            _close_run(run, REFUSED)
            written += run.chunks
        chunks = [chunk for chunk in written if not isinstance(chunk, Done)]
        await self._store_accepted(commit.claim, chunks, commit.chunks[0].seq)

    async def _store_accepted(
        self, claim: queries.Claim, chunks: Sequence[OracleStreamChunk], seq: int
    ) -> int:
        """Leave out only the chunks that are refused, and renumber; return the next number."""
        if not chunks:
            return seq
        numbered = [replace(chunk, seq=number) for number, chunk in enumerate(chunks, seq)]
        commits = [queries.Commit(claim, numbered)]
        try:
            await self._with_retry(partial(queries.write, commits))
        except (OperationalError, InterfaceError):
            raise
        except Exception as error:
            if len(chunks) == 1:
                logger.warning("a %s of run %s is lost: %s", chunks[0].type, claim.run_id, error)
                return seq
            half = len(chunks) // 2
            seq = await self._store_accepted(claim, chunks[:half], seq)
            return await self._store_accepted(claim, chunks[half:], seq)
        return seq + len(chunks)

    def _drop_run(self, run: OwnedRun) -> None:
        self._runs.pop(run.claim.run_id, None)
        self._pending -= len(run.chunks)
        run.chunks = []
        _close_run(run, TAKEN_OVER)
        if self._keep is not None:
            self._keep(run.claim.run_id, ())  # whoever has it now may erase words
        run.on_lost()

    async def _with_retry(self, work: Callable[[], T]) -> T:
        """Do it in the ledger's thread; a database that does not answer is waited for.

        Runs cannot wait for ever: they are told when it takes too long. What they wrote stays
        here until it can be stored, or until another process has settled them.
        """
        loop = asyncio.get_running_loop()
        told_at = loop.time() + self._stall_seconds
        warned = False
        while True:
            try:
                done = await self._database.run(work)
            except (OperationalError, InterfaceError) as error:
                if self._give_up_at is not None and loop.time() >= self._give_up_at:
                    raise
                if not warned:
                    logger.warning("the database cannot be written to (%s); trying again", error)
                warned = True
                self.last_error = describe_database_error(error) or NO_ANSWER
            else:
                self.last_error, self.is_stalled = "", False
                return done
            if loop.time() >= told_at and not self.is_stalled:
                self.is_stalled = True
                for run in tuple(self._runs.values()):
                    run.on_stalled()
            await asyncio.sleep(RETRY_SECONDS)


def _close_run(run: OwnedRun, why: str) -> None:
    if not run.closed:
        run.closed = why
        logger.warning("run %s is not written any more: %s", run.claim.run_id, why)


async def _wait_for_event(seconds: float, event: asyncio.Event) -> None:
    """Wait for an event, but not longer."""
    if not event.is_set():
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await event.wait()
