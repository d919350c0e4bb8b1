"""The one writer of a process: new events of all runs are committed together, then told of.

The first text of a run and everything urgent (tools, notices, the end) go at once, at most every
10 ms; the rest waits up to 10 ms for company. What a reader can see has been committed, because
readers read rows.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from django.db import InterfaceError, OperationalError

from agents.core.chunks import Chunk, Content, Done, Error, System, ToolCalled, ToolResult
from agents.core.tasks import spawn
from agents.ledger import store
from agents.ledger.database import Database

log = logging.getLogger(__name__)
T = TypeVar("T")

GATHER_SECONDS = 0.01
"""How long text waits for company."""
PACE_SECONDS = 0.01
"""From one commit to the next at least: what is urgent in between shares the next one."""
BEAT_SECONDS = 0.15
RETRY_SECONDS = 0.1
MOST_PENDING = 2_000
"""Events that may wait for a slow database before runs have to wait with them."""


CLOSE_SECONDS = 20.0
"""How long a process that stops waits for a database that does not answer."""


_URGENT = (ToolCalled, ToolResult, System, Error, Done)


class LedgerClosed(Exception):
    """Nothing more is written of this run: it is not ours any more, or the process stops."""


@dataclass(eq=False)
class OwnRun:
    """A run of this process. What happens to it is told in the event loop."""

    hold: store.Hold
    on_cancel: Callable[[str], None]
    """Somebody wants it to stop, and may say why."""
    on_lost: Callable[[], None]
    """Another process took it over, or the database refuses what it wrote."""
    on_stalled: Callable[[], None]
    """The database has not answered for too long. What was written is kept until it does."""
    closed: bool = False
    written: int = 0
    """The highest number that is committed."""
    chunks: list[Chunk] = field(default_factory=list)
    """Not yet committed."""
    final: store.Ending | None = None
    spoke: bool = False


class Writer:
    """Start it, append to it, close it. `tell` hears {run id: newest number} after each commit."""

    def __init__(
        self,
        lease: timedelta,
        tell: Callable[[dict[UUID, int]], None],
        patience: float = 60.0,
    ) -> None:
        self._lease = lease
        self._tell = tell
        self._patience = patience
        self._runs: dict[UUID, OwnRun] = {}
        self._pending = 0
        self._wanted = asyncio.Event()
        self._urgent = asyncio.Event()
        self._committed = asyncio.Condition()
        self._database = Database(1, "ledger writer")
        self._task: asyncio.Task[None] | None = None
        self._give_up_at: float | None = None
        self.is_stalled = False
        """Whether the database has not answered for longer than runs can wait."""

    def start(self) -> None:
        self._task = spawn(self._work(), "ledger writer")

    def adopt(self, run: OwnRun) -> None:
        self._runs[run.hold.run_id] = run

    def append(self, run: OwnRun, chunk: Chunk, final: store.Ending | None = None) -> None:
        """Take a chunk, to be committed soon. Ask for `room` before making the next one."""
        if run.closed:
            raise LedgerClosed
        run.chunks.append(chunk)
        run.final = final or run.final
        self._pending += 1
        self._wanted.set()
        if isinstance(chunk, _URGENT) or (not run.spoke and isinstance(chunk, Content)):
            self._urgent.set()
            run.spoke = run.spoke or isinstance(chunk, Content)

    async def room(self, run: OwnRun) -> None:
        """Wait while too much is waiting already: a slow database slows runs down, not us."""
        while self._pending >= MOST_PENDING and not run.closed:
            async with self._committed:
                await self._committed.wait()

    async def settled(self, run: OwnRun, seq: int) -> None:
        """Wait until a number of a run is committed."""
        async with self._committed:
            await self._committed.wait_for(lambda: run.written >= seq or run.closed)
        if run.written < seq:
            raise LedgerClosed

    async def close(self) -> None:
        """Write what is pending, then stop."""
        self._give_up_at = asyncio.get_running_loop().time() + CLOSE_SECONDS
        self._wanted.set()
        self._urgent.set()
        if self._task is not None:
            await asyncio.wait([self._task])
        await self._database.close()

    async def _work(self) -> None:
        clock = asyncio.get_running_loop().time
        flushed_at = 0.0
        while self._give_up_at is None:
            if await _within(BEAT_SECONDS, self._wanted):
                await _within(GATHER_SECONDS, self._urgent)
                await asyncio.sleep(flushed_at + PACE_SECONDS - clock())
                await self._safely(self._flush)
                flushed_at = clock()
            else:
                await self._safely(self._beat)
        await self._safely(self._flush)

    async def _safely(self, step: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """One bad commit must not end the ledger: later ones may be better."""
        try:
            await step()
        except Exception:
            log.exception("the ledger cannot write")
            await asyncio.sleep(RETRY_SECONDS)

    async def _flush(self) -> None:
        self._wanted.clear()
        self._urgent.clear()
        writing = [(run, run.chunks, run.final) for run in self._runs.values() if run.chunks]
        if not writing:
            return
        for run, _, _ in writing:
            run.chunks, run.final = [], None
        held = await self._write([store.Commit(r.hold, new, final) for r, new, final in writing])
        self._pending -= sum(len(new) for _, new, _ in writing)
        for run, new, final in writing:
            if run.hold.run_id in held:
                run.written = new[-1].seq
                if final is not None:
                    self._runs.pop(run.hold.run_id, None)
        await self._heed([run for run, _, _ in writing], held)
        self._tell({run.hold.run_id: run.written for run, _, _ in writing})

    async def _write(self, commits: Sequence[store.Commit]) -> store.Held:
        """Commit together. What a database refuses is one run's fault, not that of the others."""
        try:
            return await self._patiently(partial(store.write, commits, self._lease))
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            if len(commits) == 1:
                log.exception("run %s cannot be stored", commits[0].hold.run_id)
                return {}
        held: store.Held = {}
        for commit in commits:
            held |= await self._write([commit])
        return held

    async def _beat(self) -> None:
        runs = list(self._runs.values())
        if runs:
            holds = [run.hold for run in runs]
            await self._heed(runs, await self._patiently(partial(store.renew, holds, self._lease)))

    async def _heed(self, runs: list[OwnRun], held: store.Held) -> None:
        """Pass on what the database says of our runs."""
        for run in runs:
            if run.hold.run_id not in held:
                self._drop(run)
            elif (standing := held[run.hold.run_id]).is_cancelled:
                run.on_cancel(standing.cancel_note)
        async with self._committed:
            self._committed.notify_all()

    def _drop(self, run: OwnRun) -> None:
        self._runs.pop(run.hold.run_id, None)
        self._pending -= len(run.chunks)
        run.chunks, run.closed = [], True
        run.on_lost()

    async def _patiently(self, work: Callable[[], T]) -> T:
        """Do it in the ledger's thread; a database that does not answer is waited for.

        Runs cannot wait for ever: they are told when it takes too long. What they wrote stays
        here until it can be stored, or until another process has settled them.
        """
        loop = asyncio.get_running_loop()
        told_at = loop.time() + self._patience
        warned = False
        while True:
            try:
                done = await self._database.run(work)
            except (OperationalError, InterfaceError) as error:
                if self._give_up_at is not None and loop.time() >= self._give_up_at:
                    raise
                if not warned:
                    log.warning("the database cannot be written to (%s); trying again", error)
                warned = True
            else:
                self.is_stalled = False
                return done
            if loop.time() >= told_at and not self.is_stalled:
                self.is_stalled = True
                for run in tuple(self._runs.values()):
                    run.on_stalled()
            await asyncio.sleep(RETRY_SECONDS)


async def _within(seconds: float, event: asyncio.Event) -> bool:
    """Wait for an event, but not longer; whether it came."""
    if event.is_set():
        return True
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
