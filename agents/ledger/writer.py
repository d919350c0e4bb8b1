"""The one writer of a process: new events of all runs are committed together, then told of.

First text and everything urgent (tools, notices, the end) go at once; other text waits up to
30 ms for company. What a reader can see has been committed, because readers read rows.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from django.db import OperationalError, connections

from agents.core.chunks import Chunk, Content, Thinking
from agents.ledger import store
from agents.models.encoding import Row, row_of

log = logging.getLogger(__name__)
T = TypeVar("T")

GATHER_SECONDS = 0.03
BEAT_SECONDS = 0.15
MOST_PENDING = 2_000
"""Events that may wait for a slow database before runs have to wait with them."""


class LedgerClosed(Exception):
    """Nothing more is written: the database did not take it in time, or the process stops."""


@dataclass(eq=False)
class OwnRun:
    """A run of this process. `on_cancel` and `on_lost` are called in the event loop."""

    hold: store.Hold
    on_cancel: Callable[[], None]
    on_lost: Callable[[], None]
    written: int = 0
    """The highest number that is committed."""
    rows: list[Row] = field(default_factory=list)
    final: Mapping[str, Any] | None = None
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
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ledger")
        self._task: asyncio.Task[None] | None = None
        self._failure: Exception | None = None
        self._closing = False

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._work(), name="ledger")

    def adopt(self, run: OwnRun) -> None:
        self._runs[run.hold.run_id] = run

    async def append(
        self, run: OwnRun, chunk: Chunk, final: Mapping[str, Any] | None = None
    ) -> None:
        """Take a chunk; waits only while too much is waiting already."""
        while self._pending >= MOST_PENDING and self._failure is None:
            async with self._committed:
                await self._committed.wait()
        if self._failure is not None:
            raise LedgerClosed(str(self._failure)) from self._failure
        run.rows.append(row_of(run.hold.run_id, chunk))
        run.final = final or run.final
        self._pending += 1
        self._wanted.set()
        if not isinstance(chunk, Content | Thinking) or not run.spoke:
            self._urgent.set()
        run.spoke = run.spoke or isinstance(chunk, Content)

    async def settled(self, run: OwnRun, seq: int) -> None:
        """Wait until a number of a run is committed."""
        async with self._committed:
            await self._committed.wait_for(lambda: run.written >= seq or self._failure is not None)
        if run.written < seq:
            raise LedgerClosed(str(self._failure)) from self._failure

    async def close(self) -> None:
        """Write what is pending, then stop."""
        self._closing = True
        self._wanted.set()
        self._urgent.set()
        if self._task is not None:
            await asyncio.wait([self._task])
        await self._in_thread(connections.close_all)
        self._thread.shutdown()

    async def _work(self) -> None:
        try:
            while not self._closing:
                if await _within(BEAT_SECONDS, self._wanted):
                    await _within(GATHER_SECONDS, self._urgent)
                    await self._flush()
                else:
                    await self._beat()
            await self._flush()
        except Exception as error:
            log.exception("the ledger cannot write")
            self._failure = error
            for run in tuple(self._runs.values()):
                run.on_lost()
            async with self._committed:
                self._committed.notify_all()

    async def _flush(self) -> None:
        self._wanted.clear()
        self._urgent.clear()
        writing = [(run, run.rows, run.final) for run in self._runs.values() if run.rows]
        if not writing:
            return
        for run, _, _ in writing:
            run.rows, run.final = [], None
        commits = [store.Commit(run.hold, rows, final) for run, rows, final in writing]
        held = await self._patiently(partial(store.write, commits, self._lease))
        self._pending -= sum(len(rows) for _, rows, _ in writing)
        for run, rows, final in writing:
            if run.hold.run_id in held:
                run.written = rows[-1].seq
            if final is not None or run.hold.run_id not in held:
                self._runs.pop(run.hold.run_id, None)
        self._heed([run for run, _, _ in writing], held)
        async with self._committed:
            self._committed.notify_all()
        self._tell({run.hold.run_id: run.written for run, _, _ in writing})

    async def _beat(self) -> None:
        runs = list(self._runs.values())
        if runs:
            holds = [run.hold for run in runs]
            self._heed(runs, await self._patiently(partial(store.renew, holds, self._lease)))

    def _heed(self, runs: list[OwnRun], held: store.Held) -> None:
        """Pass on what the database says of our runs."""
        for run in runs:
            if run.hold.run_id not in held:
                self._runs.pop(run.hold.run_id, None)
                run.on_lost()
            elif held[run.hold.run_id]:
                run.on_cancel()

    async def _patiently(self, work: Callable[[], T]) -> T:
        """Do it in the ledger's thread; a locked database is waited for, within reason."""
        deadline = asyncio.get_running_loop().time() + self._patience
        while True:
            try:
                return await self._in_thread(work)
            except OperationalError as error:
                if asyncio.get_running_loop().time() >= deadline:
                    raise
                log.warning("the database cannot be written to (%s); trying again", error)
                await asyncio.sleep(0.1)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


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
