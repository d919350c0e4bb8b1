"""The agent loop: one question to one terminal record, under control.

    checkpoint -> turn start -> ask the model -> run its tool calls -> fold the turn -> checkpoint

The tree decides, the loop does. Whatever a tree says, the loop itself holds the run to its
turns, tokens and time, and ends it with exactly one `done` chunk.
"""

import logging
from collections.abc import AsyncGenerator, Generator, Iterator, Mapping
from contextlib import aclosing, closing
from typing import Any

from agents.core.behaviours.driver import BehaviourDriver
from agents.core.behaviours.run_interface import StepChunks
from agents.core.cancellation import Cancellation
from agents.core.chunks import Done, Error, OracleStreamChunk
from agents.core.control.observers import Observer
from agents.core.decisions.endings import NEEDS_APPROVAL
from agents.core.decisions.guard import TreeGuard
from agents.core.decisions.notices import attribute_to_tree, limit_notice
from agents.core.decisions.protocol import DecisionTree
from agents.core.loop.behaviour_engine import BehaviourEngine
from agents.core.loop.context import GRACE_SECONDS, RunContext
from agents.core.loop.control import PLAIN, Control, Resume
from agents.core.loop.decided_calls import run_decided_calls
from agents.core.loop.default_behaviour import get_default_behaviour
from agents.core.loop.explanation import build_explanation
from agents.core.loop.held_calls import emit_approval, refuse_held_calls
from agents.core.loop.prompt import ConversationInput
from agents.core.loop.tap import EventTap
from agents.core.loop.tool_batch import ToolBatch
from agents.core.loop.tool_results import emit_sources
from agents.core.loop.turn import TurnInProgress, abort_turn
from agents.core.notify.reminders import build_kept_notice
from agents.core.ports import ChatModel, Clock, ToolRunner
from agents.core.reasons import REASONS, Outcome
from agents.core.state import AgentState, Notice

logger = logging.getLogger(__name__)


async def run(
    state: AgentState,
    conversation: ConversationInput,
    *,
    tree: DecisionTree | TreeGuard,
    model: ChatModel,
    tools: ToolRunner,
    clock: Clock,
    cancellation: Cancellation | None = None,
    deadline: float | None = None,
    grace: float = GRACE_SECONDS,
    observer: Observer | None = None,
    control: Control = PLAIN,
) -> AsyncGenerator[OracleStreamChunk, None]:
    """Yield a run's chunks, the last of them `done`.

    `deadline` (monotonic) and `state.token_limit` can only shorten what the configuration allows:
    they are a subagent's share. A tree that is guarded already is used as it is. `grace` is how
    long a cancelled tool is waited for. `observer` is handed every event, before its chunk;
    `control` has the subscribers that speak besides the loop's own notices, and the rules.
    """
    guard = tree if isinstance(tree, TreeGuard) else TreeGuard(tree, state.config)
    ctx = RunContext(
        state, guard, model, tools, clock, cancellation or Cancellation(), deadline, grace
    )
    loop = _Loop(ctx, conversation, control, observer)
    tap, shown = loop.tap, 0
    try:
        try:
            async with aclosing(loop.run_turns()) as chunks:
                async for chunk in chunks:
                    events, shown = tap.hear(chunk), chunk.seq
                    yield chunk
                    for added in tap.react(events) if events else ():
                        shown = added.seq
                        yield added
        except Exception:
            logger.exception("run %s failed unexpectedly", conversation.context_id)
            ctx.state = ctx.state.without_subclass()
            ctx.seq = shown  # a chunk that was made and not shown leaves no gap
            loop.end("internal_error")
        for chunk in loop.emit_ending():
            events = tap.hear(chunk)
            yield chunk
            for added in tap.react(events):
                yield added
    finally:
        loop.close()
        ctx.close()


class _Loop(BehaviourEngine):
    """Strings the turns of a run together, and says how it began and ended."""

    def __init__(
        self,
        ctx: RunContext,
        conversation: ConversationInput,
        control: Control,
        observer: Observer | None,
    ) -> None:
        behaviour = control.behaviour or get_default_behaviour()
        reads_facts = behaviour is not None and behaviour.reads_facts
        self.tap = EventTap(ctx, control, observer, conversation.context_id or "", reads_facts)
        super().__init__(ctx, conversation, self.tap.facts)
        self.control = control
        self._driver = BehaviourDriver(behaviour, self, self.path) if behaviour else None

    def close(self) -> None:
        """Let go of the driver, which refers back here."""
        self._driver = None

    # -- the turns --------------------------------------------------------------------------------

    async def run_turns(self) -> AsyncGenerator[OracleStreamChunk, None]:
        """Yield all that the parts of the run have to show, each to its end before the next."""
        with closing(self._list_parts()) as parts:
            for part in parts:
                if isinstance(part, AsyncGenerator):
                    async with aclosing(part) as chunks:
                        async for chunk in chunks:
                            yield chunk
                else:
                    for chunk in part:
                        yield chunk

    def _list_parts(self) -> Generator[StepChunks, None, None]:
        """Yield what is done next: as the behaviour says, then turn after turn, which is all that
        there is without one."""
        yield self._announce_start()
        if self.control.resume is not None and self.control.resume.calls:
            yield self._run_decided_calls(self.control.resume)
        if self._driver is not None:
            self.ctx.state = self.ctx.state.replace(has_branches=True)
            yield from self._driver.drive(self.control.resume)
            self.leave_behaviour()
        while not self.reason:
            yield self.open_turn()
            yield from self.play("fold")

    async def _run_decided_calls(self, resume: Resume) -> AsyncGenerator[OracleStreamChunk, None]:
        """Do what was decided before anything else, whatever the limits leave room for."""
        batch = ToolBatch()
        self.fill_prompt()
        self.ctx.refresh()
        async with aclosing(run_decided_calls(self.ctx, batch, resume.calls)) as chunks:
            async for chunk in chunks:
                yield chunk
        self.last_turn = TurnInProgress(batch=batch)  # for the behaviour whose calls they are
        self.next_batch = ToolBatch(
            subagent_tokens=batch.subagent_tokens, subagent_source=batch.subagent_source
        )

    # -- start and end ----------------------------------------------------------------------------

    def _announce_start(self) -> Iterator[OracleStreamChunk]:
        """Record that the run begins, and what it begins with."""
        conversation = self.conversation
        yield self.ctx.emit_event(
            "query.start", tree=self.ctx.guard.name, control=self.control.digest
        )
        if conversation.history or conversation.is_continued:
            yield self.ctx.emit_event(
                "session.resumed",
                messages=len(conversation.history),
                continued=conversation.is_continued,
            )
        yield from emit_sources(self.ctx, conversation.sources)
        if (resume := self.control.resume) is not None:
            yield self.ctx.emit_event(
                "approval.answered",
                decision=resume.decision,
                approved=sum(call.decision == "approved" for call in resume.calls),
                calls=len(resume.calls),
                words=resume.words,
            )
        for one in self.control.reminders:
            yield self.ctx.emit_event(
                "agent.self.remind",
                reminder=one.id,
                message=one.text,
                category=one.category,
                priority=one.priority,
            )

    def emit_ending(self) -> Iterator[OracleStreamChunk]:
        """Yield the run's last chunks, whatever ended it."""
        ctx, entry = self.ctx, REASONS.get(self.reason)
        cancelled, limited = entry.outcome is Outcome.CANCELLED, entry.outcome is Outcome.LIMITED
        ctx.tick()
        ctx.state = ctx.state.replace(termination_reason=self.reason)
        if self.turn is not None:
            yield from abort_turn(ctx, self.turn)
        yield from self._clean_up()
        if self.reason != NEEDS_APPROVAL:
            why = "the run was stopped" if cancelled else "something went wrong inside Oracle"
            yield from refuse_held_calls(ctx, why)
        elif ctx.holds.calls:
            yield emit_approval(ctx, self.conversation.context_id or "", self._get_snapshot())
        yield from ctx.tell_rest()
        if limited:
            yield from ctx.tell(
                attribute_to_tree(limit_notice(self.reason, ctx.state), ctx.tally.tree)
            )
        message = str(self.error or f"{entry.sentence} {entry.remedy}")
        if cancelled:
            note = ctx.cancellation.note.rstrip(".")  # only here: notices can be erased
            told = f"Stopped by an administrator: {note}. {entry.remedy}" if note else message
            yield from ctx.tell(_cancelled_notice(told))
        if cancelled or entry.outcome is Outcome.FAILED:
            code = "cancelled" if cancelled else self.reason
            cause = self.error.code if self.error else ""
            yield ctx.emit(Error, code=code, error=message, cause=cause)
        done = self._describe_end(entry.outcome)
        if self.tap.rules is not None:
            yield from self.tap.rules.end(**done)
            yield from ctx.tell_rest()
        if self.control.keeps_reminders and (kept := ctx.bus.reminders.kept):
            yield from ctx.tell(build_kept_notice(kept))
        yield ctx.emit(Done, **done)

    def _get_snapshot(self) -> Mapping[str, Any]:
        """Return where the behaviour stood; the site's own goes on as well from its beginning."""
        chosen = self.control.behaviour
        is_own = chosen is None or chosen is get_default_behaviour()
        return {} if is_own or self._driver is None else self._driver.snapshot

    def _clean_up(self) -> Iterator[OracleStreamChunk]:
        """Yield what a behaviour has done at the end, which asks no model and calls no tool."""
        for part in self._driver.clean_up() if self._driver is not None else ():
            if not isinstance(part, AsyncGenerator):
                yield from part

    def _describe_end(self, outcome: Outcome) -> dict[str, Any]:
        """Return the fields of the run's last chunk."""
        ctx, limited = self.ctx, outcome is Outcome.LIMITED
        return {
            "termination_reason": self.reason,
            "outcome": outcome.value,
            "turns_used": ctx.state.turn,
            "tokens_used": ctx.state.tokens_used,
            "usage_source": ctx.state.usage_source or "provider",
            "model_used": ctx.model.name,
            "context_id": self.conversation.context_id,
            "also_triggered": tuple(one for one in self.also_triggered if one != self.reason),
            "explanation": build_explanation(self.reason, ctx.state, ctx.tally) if limited else "",
        }


def _cancelled_notice(message: str) -> Notice:
    return Notice(
        key="cancelled",
        system_type="cancelled",
        message=message,
        severity="info",
        metadata={"limit_type": "cancelled"},
    )
