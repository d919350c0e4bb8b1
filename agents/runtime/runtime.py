"""The runtime of one process: its runs, its ledger, its sweeper."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractContextManager, aclosing
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TypeVar
from uuid import UUID, uuid4

from channels.layers import get_channel_layer
from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone

from agents import history
from agents.core.chunks import Chunk, Done
from agents.core.clock import LoopClock
from agents.core.config import AgentConfig
from agents.core.decision import TREES
from agents.core.guard import TreeGuard
from agents.core.loop import Conversation, run
from agents.core.ports import Cancellation, ChatModel, Clock, Message, ToolRunner
from agents.core.prompt import system_prompt
from agents.core.record import RunRecord
from agents.core.state import AgentState
from agents.core.tasks import spawn, stop
from agents.ledger.database import Database
from agents.ledger.reader import Reader
from agents.ledger.relay import Relay
from agents.ledger.store import Hold, Page
from agents.ledger.writer import LedgerClosed, OwnRun, Writer
from agents.models import AgentRun
from agents.runtime.requests import Attach, RunRefused, RunRequest, World, create
from agents.runtime.settling import final_of, interruption, owner, sweep

log = logging.getLogger(__name__)
T = TypeVar("T")

LEASE = {"sqlite": timedelta(seconds=90), "postgresql": timedelta(seconds=30)}
"""How long a silent process keeps its runs; on SQLite longer than a lock may take."""
SWEEP_SECONDS = 10.0
THREADS = 4
"""For everything but writing events: starting, reading, cancelling, sweeping."""


@dataclass(frozen=True)
class _Setting:
    """What a run is driven with."""

    request: RunRequest
    model: ChatModel
    tools: ToolRunner
    history: list[Message]


@dataclass(eq=False)
class _Going:
    """A run that this process drives."""

    own: OwnRun
    cancellation: Cancellation
    setting: _Setting
    record: RunRecord = field(default_factory=RunRecord)
    seq: int = 0
    task: asyncio.Task[None] | None = None


class Runtime:
    """`async with Runtime(world) as runtime:` then start, follow, cancel."""

    def __init__(self, world: World, clock: Clock | None = None) -> None:
        self._world = world
        self._clock = clock or LoopClock()
        self._lease = LEASE[connection.vendor]
        self._database = Database(THREADS, "runtime")
        self._reader = Reader(self._database)
        layer = get_channel_layer()
        self._relay = Relay(layer, self._reader.tell) if layer is not None else None
        self._writer = Writer(self._lease, self._committed)
        self._starts: set[asyncio.Task[AgentRun]] = set()
        self._starting: set[UUID] = set()
        self._going: dict[UUID, _Going] = {}
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
    ) -> tuple[AgentRun, _Setting | None]:
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
        return row, _Setting(request, model, tools, history.messages_of(replayed))

    async def cancel(self, run_id: UUID) -> bool:
        """Ask for a run to be stopped, whichever process has it. False if it has ended."""
        if (going := self._going.get(run_id)) is not None:
            going.cancellation.request()
        active = AgentRun.objects.filter(pk=run_id, outcome__isnull=True)
        ask = partial(active.update, cancel_requested_at=timezone.now())
        return bool(await self._database.run(ask))

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

    def _launch(self, row: AgentRun, setting: _Setting) -> None:
        cancellation = Cancellation()
        own = OwnRun(
            Hold(row.pk, row.fence),
            on_cancel=cancellation.request,
            on_lost=partial(self._lost, row.pk),
            on_stalled=partial(self._stalled, row.pk),
        )
        going = self._going[row.pk] = _Going(own, cancellation, setting)
        self._writer.adopt(own)
        going.task = spawn(self._drive(going), f"run {row.pk}")

    def _lost(self, run_id: UUID) -> None:
        """The run is not ours any more: stop at once, write nothing."""
        going = self._going.pop(run_id, None)
        if going is not None and going.task is not None:
            going.task.cancel()

    def _stalled(self, run_id: UUID) -> None:
        """The database is away for too long: end the run; its end is stored when it can be."""
        going = self._going.get(run_id)
        if going is not None and going.task is not None:
            going.task.cancel()

    def _committed(self, newest: dict[UUID, int]) -> None:
        self._reader.tell(newest)
        if self._relay is not None:
            self._relay.tell(newest)

    async def _drive(self, going: _Going) -> None:
        run_id = going.own.hold.run_id
        try:
            async with aclosing(self._chunks(going)) as chunks:
                async for chunk in chunks:
                    self._store(going, chunk)
                    await self._writer.room(going.own)
            await self._writer.settled(going.own, going.seq)
        except asyncio.CancelledError:
            if run_id in self._going:
                await self._interrupt(going)
            raise
        except LedgerClosed:
            log.warning("run %s is not ours any more", run_id)
        except Exception:
            log.exception("run %s broke; the sweeper settles it", run_id)
        finally:
            self._going.pop(run_id, None)

    def _chunks(self, going: _Going) -> AsyncGenerator[Chunk, None]:
        setting, request = going.setting, going.setting.request
        tree = TREES.get(request.tree)(request.config)  # type: ignore[call-arg]
        return run(
            AgentState(
                user_id=str(request.user.pk),
                project_id=str(request.project.pk),
                config=request.config,
            ),
            Conversation(
                system=system_prompt(request.project.name),
                question=request.question,
                history=setting.history,
                context_id=str(going.own.hold.run_id),
            ),
            tree=tree,
            model=setting.model,
            tools=setting.tools,
            clock=self._clock,
            cancellation=going.cancellation,
        )

    def _store(self, going: _Going, chunk: Chunk) -> None:
        going.record.add(chunk)
        going.seq = chunk.seq
        final = final_of(going.record) if isinstance(chunk, Done) else None
        self._writer.append(going.own, chunk, final)

    async def _interrupt(self, going: _Going) -> None:
        """End a run that this process stops: what it wrote is kept, its open calls are settled."""
        if going.record.done is None:
            name = going.setting.model.name
            for chunk in interruption(going.record, going.seq, name, self._clock.time()):
                self._store(going, chunk)
        await self._writer.settled(going.own, going.seq)

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
