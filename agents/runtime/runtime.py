"""The runtime of one process: its runs, its ledger, its sweeper."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from functools import partial
from typing import TypeVar
from uuid import UUID, uuid4

from channels.layers import get_channel_layer
from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone

from agents import history
from agents.core.chunks import Chunk
from agents.core.clock import LoopClock
from agents.core.config import AgentConfig
from agents.core.decision import TREES
from agents.core.guard import TreeGuard
from agents.core.ports import Cancellation, Clock
from agents.core.tasks import spawn, stop
from agents.ledger.database import Database
from agents.ledger.reader import Reader
from agents.ledger.relay import Relay
from agents.ledger.store import Hold, Page
from agents.ledger.writer import OwnRun, Writer
from agents.models import AgentRun
from agents.runtime.going import Going, Setting
from agents.runtime.requests import Attach, RunRefused, RunRequest, World, create
from agents.runtime.settling import owner, sweep

log = logging.getLogger(__name__)
T = TypeVar("T")

LEASE = {"sqlite": timedelta(seconds=90), "postgresql": timedelta(seconds=30)}
"""How long a silent process keeps its runs; on SQLite longer than a lock may take."""
SWEEP_SECONDS = 10.0
THREADS = 4
"""For starting, cancelling and sweeping."""


class Runtime:
    """`async with Runtime(world) as runtime:` then start, follow, cancel."""

    def __init__(self, world: World, clock: Clock | None = None) -> None:
        self._world = world
        self._clock = clock or LoopClock()
        self._lease = LEASE[connection.vendor]
        self._database = Database(THREADS, "runtime")
        # Apart from those that may wait for a lock: reading never has to.
        self._reading = Database(1, "ledger reader")
        self._reader = Reader(self._reading)
        layer = get_channel_layer()
        self._relay = Relay(layer, self._reader.tell) if layer is not None else None
        self._writer = Writer(self._lease, self._committed)
        self._starts: set[asyncio.Task[AgentRun]] = set()
        self._starting: set[UUID] = set()
        self._going: dict[UUID, Going] = {}
        self._sweeper: asyncio.Task[None] | None = None
        self._stopping = False
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __aenter__(self) -> "Runtime":
        self._loop = asyncio.get_running_loop()
        await self._sweep()
        self._writer.start()
        if self._relay is not None:
            self._relay.start()
        self._sweeper = spawn(self._sweep_now_and_then(), "sweeper")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.drain(0)
        if self._relay is not None:
            await self._relay.close()
        await self._reading.close()
        await self._database.close()

    async def drain(self, grace: float) -> None:
        """Refuse new runs, let the others finish for a while, then end them as interrupted.

        When this returns everything is stored; readers may still read it.
        """
        if self._stopping:
            return
        self._stopping = True
        if self._starts:
            await asyncio.wait(self._starts)
        tasks = [going.task for going in self._going.values() if going.task is not None]
        if tasks and grace:
            await asyncio.wait(tasks, timeout=grace)
        if self._sweeper is not None:  # first: a run that is being ended is nobody's to settle
            await stop([self._sweeper], 1.0)
        await stop(tasks, 5.0)
        await self._writer.close()

    @property
    def trouble(self) -> str:
        """Why this process should get no new work now; empty if it may."""
        if self._stopping:
            return "stopping"
        return "the database does not take what runs write" if self._writer.is_stalled else ""

    @property
    def active(self) -> int:
        """How many runs this process drives."""
        return len(self._going)

    # -- runs -------------------------------------------------------------------------------------

    async def start(self, request: RunRequest, attach: Attach | None = None) -> AgentRun:
        """Store a run and start it. RunRefused says why it cannot be.

        The start is a task of ours: a caller that goes away in the middle leaves a run that goes
        on, not a row that nobody drives.
        """
        if self._stopping:
            raise RunRefused("The server is stopping. Ask again in a moment.")
        task = asyncio.get_running_loop().create_task(self._start(request, attach))
        self._starts.add(task)
        task.add_done_callback(self._starts.discard)
        return await asyncio.shield(task)

    async def _start(self, request: RunRequest, attach: Attach | None) -> AgentRun:
        tree = TREES.get(request.tree)(request.config)  # type: ignore[call-arg]
        config = TreeGuard(tree, request.config).config
        run_id = uuid4()
        self._starting.add(run_id)
        try:
            row, setting = await self._database.run(
                partial(self._prepare, request, run_id, config, attach)
            )
            if setting is not None:
                self._launch(row, setting)
        except (OperationalError, InterfaceError) as error:
            log.warning("a run could not be started: %s", error)
            raise RunRefused("The database does not answer. Ask again in a moment.") from None
        finally:
            self._starting.discard(run_id)
        return row

    def _prepare(
        self, request: RunRequest, run_id: UUID, config: AgentConfig, attach: Attach | None
    ) -> tuple[AgentRun, Setting | None]:
        """The run's row and, if it is new, what it is driven with."""
        model = self._world.model(request)
        row, is_new = create(
            request,
            run_id,
            config=config,
            model=model.name,
            owner=owner(),
            lease=self._lease,
            attach=attach,
        )
        if not is_new:
            return row, None
        replayed = request.context_runs
        if request.continued_from is not None and request.continued_from not in replayed:
            replayed = (*replayed, request.continued_from)
        tools = self._world.tools(request, model)
        system = self._world.system(request)
        return row, Setting(request, model, tools, system, history.messages_of(replayed))

    async def cancel(self, run_id: UUID, note: str = "") -> bool:
        """Ask for a run to be stopped, whichever process has it. False if it has ended.

        `note` is for the one who asked: why an administrator stopped it. A locked database is
        waited for; RunRefused says that it took too long.
        """
        is_ours = (going := self._going.get(run_id)) is not None
        if going is not None:
            going.cancellation.request(note)
        active = AgentRun.objects.filter(pk=run_id, outcome__isnull=True)
        values = {"cancel_note": note} if note else {}
        ask = partial(active.update, cancel_requested_at=timezone.now(), **values)
        try:
            return bool(await self._database.run(ask)) or is_ours  # it may have ended by this
        except (OperationalError, InterfaceError) as error:
            log.warning("a run could not be asked to stop: %s", error)
            raise RunRefused("The database does not answer. Stop it again in a moment.") from None

    def follow(self, run_id: UUID, after: int = 0) -> AsyncGenerator[Chunk, None]:
        """Every stored chunk of a run after a cursor, until its end."""
        return self._reader.follow(run_id, after)

    async def read(self, run_id: UUID, after: int) -> Page | None:
        """What is stored next of a run after a cursor, if anything."""
        return await self._reader.read(run_id, after)

    def watch(self, key: UUID, call: Callable[[], None]) -> AbstractContextManager[None]:
        """Call back whenever there may be news of a run or a conversation."""
        return self._reader.watch(key, call)

    def nudge(self, key: UUID) -> None:
        """Tell who watches it, in any process, that a conversation has changed. From any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._committed, {key: 0})

    async def work(self, work: Callable[[], T]) -> T:
        """Database work for those who use this runtime, in its threads."""
        return await self._database.run(work)

    # -- tasks ------------------------------------------------------------------------------------

    def _launch(self, row: AgentRun, setting: Setting) -> None:
        cancellation = Cancellation()
        own = OwnRun(
            Hold(row.pk, row.fence),
            on_cancel=cancellation.request,
            on_lost=partial(self._lost, row.pk),
            on_stalled=partial(self._stalled, row.pk),
        )
        going = self._going[row.pk] = Going(own, setting, cancellation, self._clock)
        self._writer.adopt(own)
        going.task = spawn(self._drive(going), f"run {row.pk}")

    async def _drive(self, going: Going) -> None:
        try:
            await going.drive(self._writer)
        finally:
            self._going.pop(going.own.hold.run_id, None)

    def _lost(self, run_id: UUID) -> None:
        """The run is not ours any more: stop at once, write nothing."""
        if (going := self._going.pop(run_id, None)) is not None:
            going.is_ours = False
            going.cancel_task()

    def _stalled(self, run_id: UUID) -> None:
        """The database is away for too long: end the run; its end is stored when it can be."""
        if (going := self._going.get(run_id)) is not None:
            going.cancel_task()

    def _committed(self, newest: dict[UUID, int]) -> None:
        self._reader.tell(newest)
        if self._relay is not None:
            self._relay.tell(newest)

    async def _sweep(self) -> None:
        await self._database.run(partial(sweep, self._lease, self._is_mine))

    def _is_mine(self, run_id: UUID) -> bool:
        return run_id in self._starting or run_id in self._going

    async def _sweep_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            try:
                await self._sweep()
            except Exception:
                log.exception("the sweeper failed; it tries again")
