"""One run that this process drives, from its first chunk to its last."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from uuid import UUID

from agents.core.cancellation import Cancellation
from agents.core.chunks import Done, OracleStreamChunk, SourceRef
from agents.core.control.event_stream import SELF_NOTE, SELF_NOTE_TOOL
from agents.core.control.observers import ObservedRun, build_observation, list_observers
from agents.core.decisions import TreeGuard
from agents.core.loop import PLAIN, Control, ConversationInput, run
from agents.core.messages import Message
from agents.core.notify.reminders import ReminderLog
from agents.core.ports import ChatModel, Clock, ToolRunner
from agents.core.run_record import RunRecord
from agents.core.state import AgentState
from agents.ledger import FinalValues, LedgerClosed, OwnedRun, Writer
from agents.llm import OfflineModel, asking_person
from agents.runtime.endings import final_values, interrupted_chunks
from agents.runtime.reminders import settle_reminders
from agents.runtime.requests import RunRequest

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunInputs:
    """What a run is driven with."""

    request: RunRequest
    guard: TreeGuard
    model: ChatModel
    tools: ToolRunner
    system_prompt: str
    history: list[Message]
    control: Control = PLAIN
    sources: Sequence[SourceRef] = ()
    """Of the run that this one goes on from."""


@dataclass(eq=False)
class RunTask:
    """Drives the loop and stores what it says. Its task belongs to the runtime."""

    owned_run: OwnedRun
    inputs: RunInputs
    cancellation: Cancellation
    clock: Clock
    is_ours: bool = True
    """False once another process has taken it over: then nothing more is written."""
    task: asyncio.Task[None] | None = None
    _record: RunRecord = field(default_factory=RunRecord)
    _reminders: ReminderLog = field(default_factory=ReminderLog)
    _seq: int = 0

    def __post_init__(self) -> None:
        request, run_id = self.inputs.request, str(self.owned_run.claim.run_id)
        run = ObservedRun(run_id, str(request.user.pk), str(request.project.pk))
        self._observe = build_observation(list_observers(run, request.observer), run_id)

    def cancel_task(self) -> None:
        """Stop at once; what was written is kept, and ends as interrupted if the run is ours."""
        if self.task is not None:
            self.task.cancel()

    async def run(self, writer: Writer) -> None:
        asking_person.set(self.inputs.request.user.pk)
        try:
            await self._drive(writer)
        except LedgerClosed:
            pass  # the writer has logged why
        except Exception:
            run_id = self.owned_run.claim.run_id
            logger.exception("run %s failed; the sweeper will end it", run_id)

    async def _drive(self, writer: Writer) -> None:
        try:
            async with aclosing(self._chunks()) as chunks:
                async for chunk in chunks:
                    self._store(writer, chunk)
                    await writer.wait_for_capacity(self.owned_run)
            await writer.wait_committed(self.owned_run, self._seq)
        except asyncio.CancelledError:
            if self.is_ours:
                await self._interrupt(writer)
            raise

    def _chunks(self) -> AsyncGenerator[OracleStreamChunk, None]:
        setting, request = self.inputs, self.inputs.request
        return run(
            AgentState(
                user_id=str(request.user.pk),
                project_id=str(request.project.pk),
                config=request.config,
                withheld_tools=_find_useless_tools(setting.control),
            ),
            ConversationInput(
                system=setting.system_prompt,
                question=request.question,
                history=_list_history(setting),
                context_id=str(self.owned_run.claim.run_id),
                is_continued=request.continued_from is not None,
                sources=setting.sources,
            ),
            tree=setting.guard,
            model=setting.model,
            tools=setting.tools,
            clock=self.clock,
            cancellation=self.cancellation,
            control=setting.control,
        )

    def _store(self, writer: Writer, chunk: OracleStreamChunk) -> None:
        self._observe(chunk)
        self._record.add(chunk)
        self._reminders.add(chunk)
        self._seq = chunk.seq
        writer.append(
            self.owned_run, chunk, self._final_values() if isinstance(chunk, Done) else None
        )

    def _final_values(self) -> FinalValues:
        """Return the final values, with why it was stopped: whoever stopped it may be late to."""
        ending, note = final_values(self._record), self.cancellation.note
        values = {**ending.values, "cancel_note": note} if note else ending.values
        if not (self.inputs.control.reminders or self._reminders.kept):
            return replace(ending, values=values)
        settle = partial(settle_reminders, log=self._reminders)
        return replace(ending, values=values, also_store=[*ending.also_store, settle])

    async def _interrupt(self, writer: Writer) -> None:
        """End a run that this process stops: its open calls are settled, and it says why."""
        if self._record.done is None:
            name = self.inputs.model.name
            now = self.clock.time()
            for chunk in interrupted_chunks("interrupted", self._record, self._seq, name, now):
                self._store(writer, chunk)
        await writer.wait_committed(self.owned_run, self._seq)


def _list_history(inputs: RunInputs) -> list[Message]:
    """Return what the model is sent of the conversation; the embedded one, what it reads of it."""
    if isinstance(inputs.model, OfflineModel):
        return inputs.model.recall(inputs.history, inputs.request.question)
    return inputs.history


def find_resumed_run(model: ChatModel, request: RunRequest) -> UUID | None:
    """Return the run that a typed "continue" goes on from: the embedded model takes it at its
    word."""
    is_resumed = isinstance(model, OfflineModel) and model.goes_on(request.question)
    return request.context_runs[-1] if is_resumed and request.context_runs else None


def _find_useless_tools(control: Control) -> frozenset[str]:
    """Return the tools that would come to nothing: notes to itself that nobody tells the model."""
    is_told = any(SELF_NOTE in one.types for one in control.subscribers)
    return frozenset() if is_told else frozenset({SELF_NOTE_TOOL})
