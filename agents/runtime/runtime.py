"""The runtime of one process: its runs, its ledger, its sweeper."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import connection
from django.utils import timezone

from agents import history
from agents.core.chunks import Chunk, Done
from agents.core.clock import LoopClock
from agents.core.decision import TREES
from agents.core.guard import TreeGuard
from agents.core.loop import Conversation, run
from agents.core.ports import Cancellation, ChatModel, Clock, Message, ToolRunner
from agents.core.prompt import system_prompt
from agents.core.record import RunRecord
from agents.core.state import AgentState
from agents.core.tasks import spawn, stop
from agents.ledger.reader import Hints
from agents.ledger.store import Hold
from agents.ledger.writer import LedgerClosed, OwnRun, Writer
from agents.models import AgentRun
from agents.runtime.requests import Attach, RunRefused, RunRequest, World, create
from agents.runtime.settling import final_of, interruption, owner, sweep

log = logging.getLogger(__name__)
T = TypeVar("T")

LEASE = {"sqlite": timedelta(seconds=90), "postgresql": timedelta(seconds=30)}
"""How long a silent process keeps its runs; on SQLite longer than a lock may take."""
SWEEP_SECONDS = 10.0


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
        self._hints = Hints()
        self._writer = Writer(self._lease, self._hints.tell)
        self._going: dict[UUID, _Going] = {}
        self._sweeper: asyncio.Task[None] | None = None
        self._stopping = False

    async def __aenter__(self) -> "Runtime":
        self._writer.start()
        await _in_thread(lambda: sweep(self._lease))
        self._sweeper = spawn(self._sweep_now_and_then(), "sweeper")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close(0)

    async def close(self, grace: float) -> None:
        """Refuse new runs, let the others finish for a while, then end them as interrupted."""
        self._stopping = True
        tasks = [going.task for going in self._going.values() if going.task is not None]
        if tasks and grace:
            await asyncio.wait(tasks, timeout=grace)
        await stop(tasks, 5.0)
        if self._sweeper is not None:
            await stop([self._sweeper], 1.0)
        await self._writer.close()

    # -- runs -------------------------------------------------------------------------------------

    async def start(self, request: RunRequest, attach: Attach | None = None) -> AgentRun:
        """Store a run and start it. RunRefused says why it cannot be."""
        if self._stopping:
            raise RunRefused("The server is stopping. Ask again in a moment.")
        tree = TREES.get(request.tree)(request.config)  # type: ignore[call-arg]
        config = TreeGuard(tree, request.config).config

        def prepare() -> tuple[AgentRun, _Setting | None]:
            model = self._world.model(request)
            row, is_new = create(
                request,
                config=config,
                model=model.name,
                owner=owner(),
                lease=self._lease,
                attach=attach,
            )
            replayed = request.context_runs
            if request.continued_from is not None and request.continued_from not in replayed:
                replayed = (*replayed, request.continued_from)
            if not is_new:
                return row, None
            tools = self._world.tools(request, model)
            return row, _Setting(request, model, tools, history.messages_of(replayed))

        row, setting = await _in_thread(prepare)
        if setting is not None:
            self._launch(row, setting)
        return row

    async def cancel(self, run_id: UUID) -> bool:
        """Ask for a run to be stopped, whichever process has it. False if it has ended."""
        if (going := self._going.get(run_id)) is not None:
            going.cancellation.request()
        active = AgentRun.objects.filter(pk=run_id, outcome__isnull=True)
        return bool(await active.aupdate(cancel_requested_at=timezone.now()))

    def follow(self, run_id: UUID, after: int = 0) -> AsyncGenerator[Chunk, None]:
        """Every stored chunk of a run after a cursor, until its end."""
        return self._hints.follow(run_id, after)

    # -- tasks ------------------------------------------------------------------------------------

    def _launch(self, row: AgentRun, setting: _Setting) -> None:
        cancellation = Cancellation()
        own = OwnRun(Hold(row.pk, row.fence), cancellation.request, lambda: self._lost(row.pk))
        going = self._going[row.pk] = _Going(own, cancellation, setting)
        self._writer.adopt(own)
        going.task = spawn(self._drive(going), f"run {row.pk}")

    def _lost(self, run_id: UUID) -> None:
        """The run is not ours any more: stop at once, write nothing."""
        going = self._going.pop(run_id, None)
        if going is not None and going.task is not None:
            going.task.cancel()

    async def _drive(self, going: _Going) -> None:
        run_id = going.own.hold.run_id
        try:
            async for chunk in self._chunks(going):
                await self._store(going, chunk)
            await self._writer.settled(going.own, going.seq)
        except asyncio.CancelledError:
            if run_id in self._going:
                await self._interrupt(going)
            raise
        except LedgerClosed:
            log.exception("run %s could not be stored", run_id)
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

    async def _store(self, going: _Going, chunk: Chunk) -> None:
        going.record.add(chunk)
        going.seq = chunk.seq
        final = final_of(going.record) if isinstance(chunk, Done) else None
        await self._writer.append(going.own, chunk, final)

    async def _interrupt(self, going: _Going) -> None:
        """End a run that this process stops: what it wrote is kept, its open calls are settled."""
        if going.record.done is None:
            name = going.setting.model.name
            for chunk in interruption(going.record, going.seq, name, self._clock.time()):
                await self._store(going, chunk)

    async def _sweep_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            try:
                await _in_thread(lambda: sweep(self._lease))
            except Exception:
                log.exception("the sweeper failed; it tries again")


async def _in_thread(work: Callable[[], T]) -> T:
    """Database work off the event loop."""
    return await sync_to_async(work, thread_sensitive=False)()
