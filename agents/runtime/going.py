"""One run that this process drives, from its first chunk to its last."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from agents.core.chunks import Chunk, Done
from agents.core.decision import TREES
from agents.core.loop import Conversation, run
from agents.core.ports import Cancellation, ChatModel, Clock, Message, ToolRunner
from agents.core.record import RunRecord
from agents.core.state import AgentState
from agents.ledger.store import Ending
from agents.ledger.writer import LedgerClosed, OwnRun, Writer
from agents.runtime.requests import RunRequest
from agents.runtime.settling import final_of, interruption

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Setting:
    """What a run is driven with."""

    request: RunRequest
    model: ChatModel
    tools: ToolRunner
    system: str
    history: list[Message]


@dataclass(eq=False)
class Going:
    """Drives the loop and stores what it says. Its task belongs to the runtime."""

    own: OwnRun
    setting: Setting
    cancellation: Cancellation
    clock: Clock
    is_ours: bool = True
    """False once another process has taken it over: then nothing more is written."""
    task: asyncio.Task[None] | None = None
    _record: RunRecord = field(default_factory=RunRecord)
    _seq: int = 0

    def cancel_task(self) -> None:
        """Stop at once; what was written is kept, and ends as interrupted if the run is ours."""
        if self.task is not None:
            self.task.cancel()

    async def drive(self, writer: Writer) -> None:
        run_id = self.own.hold.run_id
        try:
            async with aclosing(self._chunks()) as chunks:
                async for chunk in chunks:
                    self._store(writer, chunk)
                    await writer.room(self.own)
            await writer.settled(self.own, self._seq)
        except asyncio.CancelledError:
            if self.is_ours:
                await self._interrupt(writer)
            raise
        except LedgerClosed:
            log.warning("run %s is not ours any more", run_id)
        except Exception:
            log.exception("run %s broke; the sweeper settles it", run_id)

    def _chunks(self) -> AsyncGenerator[Chunk, None]:
        setting, request = self.setting, self.setting.request
        return run(
            AgentState(
                user_id=str(request.user.pk),
                project_id=str(request.project.pk),
                config=request.config,
            ),
            Conversation(
                system=setting.system,
                question=request.question,
                history=setting.history,
                context_id=str(self.own.hold.run_id),
            ),
            tree=TREES.get(request.tree)(request.config),  # type: ignore[call-arg]
            model=setting.model,
            tools=setting.tools,
            clock=self.clock,
            cancellation=self.cancellation,
        )

    def _store(self, writer: Writer, chunk: Chunk) -> None:
        self._record.add(chunk)
        self._seq = chunk.seq
        writer.append(self.own, chunk, self._ending() if isinstance(chunk, Done) else None)

    def _ending(self) -> Ending:
        """With why it was stopped: it may end before whoever stopped it could write that down."""
        ending, note = final_of(self._record), self.cancellation.note
        return replace(ending, values={**ending.values, "cancel_note": note}) if note else ending

    async def _interrupt(self, writer: Writer) -> None:
        """End a run that this process stops: its open calls are settled, and it says why."""
        if self._record.done is None:
            name = self.setting.model.name
            for chunk in interruption(self._record, self._seq, name, self.clock.time()):
                self._store(writer, chunk)
        await writer.settled(self.own, self._seq)
