"""The runtime of one process: its runs, its ledger, its sweeper."""

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar
from uuid import UUID, uuid4

from channels.layers import get_channel_layer
from django.db import DatabaseError, InterfaceError, OperationalError, connection
from django.utils import timezone

from agents import context_messages
from agents.approvals import resume_decided
from agents.core.cancellation import Cancellation
from agents.core.chunks import OracleStreamChunk
from agents.core.clock import LoopClock
from agents.core.decisions import build_guard
from agents.core.ports import Clock
from agents.core.registry import NotRegistered
from agents.core.tasks import spawn, stop
from agents.ledger import (
    ChunkPage,
    Claim,
    DatabaseExecutor,
    HeldLease,
    HintBroadcaster,
    OwnedRun,
    Reader,
    Writer,
    checkpoint_wal,
)
from agents.models import AgentRun
from agents.runtime.admission import create_run
from agents.runtime.control import load_control
from agents.runtime.modes import get_mode
from agents.runtime.recovery import SECOND_LOOK_SECONDS, Sweeper
from agents.runtime.reminders import claim_reminders
from agents.runtime.requests import Attach, RunFactory, RunRefused, RunRequest
from agents.runtime.run_task import RunInputs, RunTask

logger = logging.getLogger(__name__)
T = TypeVar("T")

SWEEP_SECONDS = 10.0
CHECKPOINT_SECONDS = 1.0
DB_THREADS = 4
"""For starting, cancelling and sweeping; and for the work of sockets and the API."""


class Runtime:
    """`async with Runtime(factory) as runtime:` then start, follow, cancel."""

    def __init__(self, factory: RunFactory, clock: Clock | None = None) -> None:
        self._factory = factory
        self._clock = clock or LoopClock()
        self._lease = HeldLease()
        self._sweeper = Sweeper(self._lease.id, self._owns_run)
        self._database = DatabaseExecutor(DB_THREADS, "runtime")
        # Apart from those that may wait for a lock: reading never has to.
        self._read_database = DatabaseExecutor(1, "ledger reader")
        self._reader = Reader(self._read_database)
        layer = get_channel_layer()
        self._broadcaster = (
            HintBroadcaster(layer, self._reader.notify) if layer is not None else None
        )
        self._writer = Writer(self._on_committed, keep=self._reader.keep)
        self._start_tasks: set[asyncio.Task[AgentRun]] = set()
        self._starting_ids: set[UUID] = set()
        self._run_tasks: dict[UUID, RunTask] = {}
        self._background_tasks: list[asyncio.Task[None]] = []
        self._has_written = asyncio.Event()
        self._sweep_wanted = asyncio.Event()
        self._unrecovered: set[UUID] = set()
        """Runs that were dropped, and whose readers wait for an end."""
        self._is_stopping = False
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __aenter__(self) -> "Runtime":
        self._loop = asyncio.get_running_loop()
        await self._database.run(self._lease.start)
        try:
            await self._database.run(self._sweeper.sweep)
        except BaseException:
            await asyncio.to_thread(self._lease.close)
            raise
        self._writer.start()
        if self._broadcaster is not None:
            self._broadcaster.start()
        self._background_tasks = [spawn(self._sweep_periodically(), "sweeper")]
        if connection.vendor == "sqlite":
            self._background_tasks.append(spawn(self._checkpoint_periodically(), "checkpoints"))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.drain(0)
        if self._broadcaster is not None:
            await self._broadcaster.close()
        await asyncio.to_thread(self._lease.close)
        await self._read_database.close()
        await self._database.close()

    async def drain(self, grace: float) -> None:
        """Refuse new runs, let the others finish for a while, then end them as interrupted.

        When this returns everything is stored; readers may still read it.
        """
        if self._is_stopping:
            return
        self._is_stopping = True
        if self._start_tasks:
            await asyncio.wait(self._start_tasks)
        tasks = [going.task for going in self._run_tasks.values() if going.task is not None]
        if tasks and grace:
            await asyncio.wait(tasks, timeout=grace)
        await stop(
            self._background_tasks, 1.0
        )  # first: a run that is being ended is nobody's to settle
        await stop(tasks, 5.0)
        await self._writer.close()

    @property
    def not_ready_reason(self) -> str:
        """Why this process should get no new work now; empty if it may."""
        if self._is_stopping:
            return "stopping"
        return self._writer.last_error

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        return self._loop

    @property
    def active_runs(self) -> int:
        """How many runs this process drives."""
        return len(self._run_tasks)

    # -- runs -------------------------------------------------------------------------------------

    async def start(self, request: RunRequest, attach: Attach | None = None) -> AgentRun:
        """Store a run and start it. RunRefused says why it cannot be.

        The start is a task of ours: a caller that goes away in the middle leaves a run that goes
        on, not a row that nobody drives.
        """
        if self._is_stopping:
            raise RunRefused("The server is stopping. Ask again in a moment.")
        task = asyncio.get_running_loop().create_task(self._start(request, attach))
        self._start_tasks.add(task)
        task.add_done_callback(self._start_tasks.discard)
        return await asyncio.shield(task)

    async def _start(self, request: RunRequest, attach: Attach | None) -> AgentRun:
        run_id = uuid4()
        self._starting_ids.add(run_id)
        try:
            row, setting = await self._database.run(partial(self._prepare, request, run_id, attach))
            if setting is not None:
                self._launch(row, setting)
        except (OperationalError, InterfaceError) as error:
            logger.warning("a run could not be started: %s", error)
            raise RunRefused("The database does not answer. Ask again in a moment.") from None
        except NotRegistered as error:  # its mode was deleted since the question was made ready
            raise RunRefused(str(error)) from None
        finally:
            self._starting_ids.discard(run_id)
        return row

    def _prepare(
        self, request: RunRequest, run_id: UUID, attach: Attach | None
    ) -> tuple[AgentRun, RunInputs | None]:
        """Return the run's row and, if it is new, what it is driven with."""
        mode = get_mode(request.tree, request.user)
        guard = build_guard(mode.tree, request.config)
        model = self._factory.model(request)
        row, is_new = create_run(
            request,
            run_id,
            mode=mode,
            config=guard.config,
            model=model.name,
            owner=self._lease.id,
            attach=attach,
        )
        if not is_new:
            return row, None
        replayed = request.context_runs
        if request.continued_from is not None and request.continued_from not in replayed:
            replayed = (*replayed, request.continued_from)
        tools = self._factory.tools(request, model, row.pk)
        system = self._factory.system_prompt(request)
        control = load_control(request.user, request.project, request.conversation_key)
        control = replace(claim_reminders(control, row), behaviour=mode.behaviour)
        decided: dict[UUID, list[str]] = {}
        if request.continued_from is not None:
            control = resume_decided(control, row, request.continued_from)
            held = control.resume.calls if control.resume is not None else ()
            decided[request.continued_from] = [call.id for call in held]
        messages = context_messages.build_messages(replayed, decided)
        return row, RunInputs(request, guard, model, tools, system, messages, control)

    async def cancel(self, run_id: UUID, note: str = "") -> bool:
        """Ask for a run to be stopped, whichever process has it. False if it has ended.

        `note` is for the one who asked: why an administrator stopped it. A locked database is
        waited for; RunRefused says that it took too long.
        """
        is_ours = (going := self._run_tasks.get(run_id)) is not None
        if going is not None:
            going.cancellation.request(note)
        active = AgentRun.objects.filter(pk=run_id, outcome__isnull=True)
        values = {"cancel_note": note} if note else {}
        ask = partial(active.update, cancel_requested_at=timezone.now(), **values)
        try:
            return bool(await self._database.run(ask)) or is_ours  # it may have ended by this
        except (OperationalError, InterfaceError) as error:
            logger.warning("a run could not be asked to stop: %s", error)
            raise RunRefused("The database does not answer. Stop it again in a moment.") from None

    def stop_asked(self, run_ids: Iterable[UUID], note: str) -> None:
        """Stop runs of this process whose rows say so already. From any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop_asked, tuple(run_ids), note)

    def _stop_asked(self, run_ids: Iterable[UUID], note: str) -> None:
        for run_id in run_ids:
            if (going := self._run_tasks.get(run_id)) is not None:
                going.cancellation.request(note)

    def follow(self, run_id: UUID, after: int = 0) -> AsyncGenerator[OracleStreamChunk, None]:
        """Yield every stored chunk of a run after a cursor, until its end."""
        return self._reader.follow(run_id, after)

    def follow_pages(
        self, run_id: UUID, after: int = 0, heartbeat: float = math.inf
    ) -> AsyncGenerator[ChunkPage | None, None]:
        """Yield the same by pages; one at least every `heartbeat` seconds, None if unreadable."""
        return self._reader.follow_pages(run_id, after, heartbeat)

    def watch(self, key: UUID, callback: Callable[[], None]) -> AbstractContextManager[None]:
        """Call back whenever there may be news of a run or a conversation."""
        return self._reader.watch(key, callback)

    def notify_changed(self, key: UUID) -> None:
        """Tell who watches it, in any process, that a conversation has changed. From any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._on_committed, {key: 0})

    async def run_db(self, work: Callable[[], T], person: int | str | None = None) -> T:
        """Run database work for those who use this runtime, in its threads."""
        return await self._database.run(work, person)

    # -- tasks ------------------------------------------------------------------------------------

    def _launch(self, row: AgentRun, inputs: RunInputs) -> None:
        cancellation = Cancellation()
        own = OwnedRun(
            Claim(row.pk, row.fence),
            on_cancel=cancellation.request,
            on_lost=partial(self._on_lost, row.pk),
            on_stalled=partial(self._on_stalled, row.pk),
        )
        going = self._run_tasks[row.pk] = RunTask(own, inputs, cancellation, self._clock)
        self._writer.add_run(own)
        going.task = spawn(self._run_to_end(going), f"run {row.pk}")

    async def _run_to_end(self, run_task: RunTask) -> None:
        try:
            await run_task.run(self._writer)
        finally:
            self._run_tasks.pop(run_task.owned_run.claim.run_id, None)

    def _on_lost(self, run_id: UUID) -> None:
        """Stop at once and write nothing: the run is not ours any more. Nobody else may have it."""
        if (going := self._run_tasks.pop(run_id, None)) is not None:
            going.is_ours = False
            going.cancel_task()
        self._unrecovered.add(run_id)
        self._sweep_wanted.set()

    def _on_stalled(self, run_id: UUID) -> None:
        """End the run: the database is away for too long. Its end is stored when it can be."""
        if (going := self._run_tasks.get(run_id)) is not None:
            going.cancel_task()

    def _on_committed(self, newest: dict[UUID, int]) -> None:
        self._has_written.set()
        self._reader.notify(newest)
        if self._broadcaster is not None:
            self._broadcaster.publish(newest)

    def _owns_run(self, run_id: UUID) -> bool:
        return run_id in self._starting_ids or run_id in self._run_tasks

    async def _sweep_periodically(self) -> None:
        while True:
            pause = SECOND_LOOK_SECONDS if self._sweeper.has_doubts() else SWEEP_SECONDS
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._sweep_wanted.wait()
            self._sweep_wanted.clear()
            settled, self._unrecovered = self._unrecovered, set()
            try:
                await self._database.run(self._sweeper.sweep)
            except Exception:
                logger.exception("the sweeper failed; it tries again")
            if settled:
                self._on_committed(dict.fromkeys(settled, 0))

    async def _checkpoint_periodically(self) -> None:
        """Checkpoint while runs are written. What fails here fails for who writes, too."""
        while True:
            await self._has_written.wait()
            await asyncio.sleep(CHECKPOINT_SECONDS)
            self._has_written.clear()
            with suppress(DatabaseError):
                if not await self._database.run(checkpoint_wal):
                    self._has_written.set()  # somebody was reading: the rest is moved later
