"""The agent loop: one question to one terminal record, under control.

    checkpoint -> turn start -> ask the model -> run its tool calls -> fold the turn -> checkpoint

The tree decides, the loop does. Whatever a tree says, the loop itself holds the run to its
turns, tokens and time, and ends it with exactly one `done` chunk.
"""

import logging
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from agents.core.cancellation import Cancellation
from agents.core.chunks import Check, Decision, Done, Error, OracleStreamChunk
from agents.core.control.observers import Observer
from agents.core.decisions.checkpoint import WRAP_UP, decide, wrap_up_reason
from agents.core.decisions.endings import measure_conditions
from agents.core.decisions.guard import TreeGuard
from agents.core.decisions.notices import attribute_to_tree, limit_notice
from agents.core.decisions.protocol import DecisionTree
from agents.core.loop.context import GRACE_SECONDS, RunContext
from agents.core.loop.control import PLAIN, Control
from agents.core.loop.explanation import build_explanation
from agents.core.loop.forecast import WRAP_UP_NOTE_CHARS
from agents.core.loop.prompt import ConversationInput
from agents.core.loop.tap import EventTap
from agents.core.loop.turn import TurnInProgress, abort_turn, begin_turn, run_turn
from agents.core.messages import ModelError
from agents.core.notify.reminders import build_kept_notice
from agents.core.ports import ChatModel, Clock, ToolRunner
from agents.core.reasons import INSIDE_LIMIT, REASONS, Outcome
from agents.core.state import AgentState, Notice
from agents.core.tokens import truncate_history

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
    tap = EventTap(ctx, control, observer, conversation.context_id or "")
    loop = _Loop(ctx, conversation, control, tap)
    shown = 0
    try:
        try:
            async with aclosing(loop.run_turns()) as chunks:
                async for chunk in chunks:
                    for told in loop.tap.pass_on(chunk):
                        shown = told.seq
                        yield told
        except Exception:
            logger.exception("run %s failed unexpectedly", conversation.context_id)
            ctx.state = ctx.state.without_subclass()
            ctx.seq = shown  # a chunk that was made and not shown leaves no gap
            loop.end("internal_error")
        for chunk in loop.emit_ending():
            for told in loop.tap.pass_on(chunk):
                yield told
    finally:
        ctx.inbox.close()


class _Loop:
    def __init__(
        self, ctx: RunContext, conversation: ConversationInput, control: Control, tap: EventTap
    ) -> None:
        self.ctx = ctx
        self.tap = tap
        self.conversation = conversation
        self.control = control
        self.reason = ""
        """Why the run has ended; empty while it goes on."""
        self.error: ModelError | None = None
        """What to tell the user instead of the reason's own sentence."""
        self.also_triggered: tuple[str, ...] = ()
        self.turn: TurnInProgress | None = None

    def end(self, reason: str, error: ModelError | None = None) -> None:
        self.reason, self.error = reason, error

    def _record_fired(self, found: Sequence[Check]) -> None:
        """Keep whatever held when the run was stopped, and what came to hold until its end; also
        the reason that a tree has set, where another one goes before it."""
        reasons = [check.rule for check in found if check.fired]
        if (asked := self.ctx.state.termination_reason) is not None:
            reasons.append(asked)
        self.also_triggered = tuple(dict.fromkeys((*self.also_triggered, *reasons)))

    # -- the turns --------------------------------------------------------------------------------

    async def run_turns(self) -> AsyncGenerator[OracleStreamChunk, None]:
        ctx = self.ctx
        for chunk in self._announce_start():
            yield chunk
        self._fill_prompt()
        checkpoint = "start"
        while True:
            ctx.refresh()
            for chunk in ctx.context_update():
                yield chunk
            decision = self._decide(checkpoint)
            yield decision
            wrap_up = wrap_up_reason(
                ctx.state, checkpoint, decision.goes_on, decision.reason, ctx.wrap_up_fits
            )
            if not decision.goes_on:
                for chunk in self._announce_stop(decision, wrap_up):
                    yield chunk
                if wrap_up is None:
                    return
            for chunk in begin_turn(ctx, wrap_up):
                yield chunk
            self.turn = TurnInProgress()
            async with aclosing(run_turn(ctx, self.turn)) as chunks:
                async for chunk in chunks:
                    yield chunk
            error, self.turn = self.turn.answer.error, None
            if error is not None and not ctx.cancellation.requested:
                for chunk in self._handle_model_error(error, wrap_up):
                    yield chunk
                if self.reason:
                    return
            checkpoint = WRAP_UP if wrap_up else "turn"

    # -- decisions --------------------------------------------------------------------------------

    def _decide(self, checkpoint: str) -> Decision:
        """Decide by the state as it is now, and record what every end condition measured."""
        ctx = self.ctx
        goes_on, reason = decide(ctx.guard, ctx.state, checkpoint)
        found = measure_conditions(ctx.state)
        if not goes_on and all(check.rule != reason for check in found):
            found = (*found, Check(reason, None, None, fired=True))
        return ctx.emit(
            Decision,
            checkpoint=checkpoint,
            goes_on=goes_on,
            reason=reason,
            tree=ctx.guard.name,
            checks=found,
        )

    def _handle_model_error(
        self, error: ModelError, wrap_up: str | None
    ) -> Iterator[OracleStreamChunk]:
        """End after the endpoint failed for good. A wrap-up that failed keeps the run's reason,
        unless the model has never answered at all: then the failure is what the user must know."""
        ctx = self.ctx
        if wrap_up is None or ctx.state.turn == 0:
            ctx.refresh()
            self._record_fired(measure_conditions(ctx.state))
            self.end("provider_error", error)
            return
        ctx.tally.wrap_up_error = str(error)
        yield from ctx.tell(
            Notice(
                key="wrap_up_failed",
                system_type="provider",
                message=f"The last answer could not be finished. {error}",
                metadata={"limit_type": "provider", "cause": error.code},
            )
        )

    def _announce_stop(
        self, decision: Decision, wrap_up: str | None
    ) -> Iterator[OracleStreamChunk]:
        """Say why the work stops; record the end if no wrap-up follows.

        A limit that the last answer lies inside of is reached, and said, at the end only.
        """
        ctx = self.ctx
        self._record_fired(decision.checks)
        unmet = any(c.rule == decision.reason and not c.fired for c in decision.checks)
        if unmet and decision.checkpoint != WRAP_UP:
            ctx.tally.tree = decision.tree
        if decision.checkpoint == WRAP_UP and ctx.state.finish_reason == "stop":
            self.also_triggered = (
                *self.also_triggered,
                "completed",
            )  # it was shaped by the limit all the same
        limited = REASONS.get(decision.reason).outcome is Outcome.LIMITED
        yield from ctx.emit_due_notices(warnings=limited)
        if limited and decision.reason not in INSIDE_LIMIT:
            yield from ctx.tell(
                attribute_to_tree(limit_notice(decision.reason, ctx.state), ctx.tally.tree)
            )
        if wrap_up is None:
            self.end(decision.reason)
            if decision.reason == "token_budget" and ctx.state.turn == 0:
                self._record_required_budget()

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
        for one in self.control.reminders:
            yield self.ctx.emit_event(
                "agent.self.remind",
                reminder=one.id,
                message=one.text,
                category=one.category,
                priority=one.priority,
            )

    def _fill_prompt(self) -> None:
        ctx, conversation = self.ctx, self.conversation
        ctx.prompt = conversation.build_prompt([])
        fixed = ctx.prompt.chars + ctx.tool_chars() + WRAP_UP_NOTE_CHARS
        history = truncate_history(conversation.history, ctx.budget.history_chars(fixed))
        if history:
            ctx.prompt = conversation.build_prompt(history)
        if not ctx.budget.has_room_for(ctx.prompt.chars + WRAP_UP_NOTE_CHARS):
            ctx.prompt = conversation.build_prompt([])

    def _record_required_budget(self) -> None:
        """Record what stands in the way of the bare question, and what would do."""
        needed = self.ctx.wrap_up_tokens()
        if needed > self.ctx.budget.window:
            self.ctx.tally.beyond_window = self.ctx.budget.window
        else:
            self.ctx.tally.minimum_budget = max(1_000, -(-needed // 100) * 100)

    def emit_ending(self) -> Iterator[OracleStreamChunk]:
        """Yield the run's last chunks, whatever ended it."""
        ctx, entry = self.ctx, REASONS.get(self.reason)
        ctx.tick()
        ctx.state = replace(ctx.state, termination_reason=self.reason)
        if self.turn is not None:
            yield from abort_turn(ctx, self.turn)
        yield from ctx.tell_rest()
        cancelled, limited = entry.outcome is Outcome.CANCELLED, entry.outcome is Outcome.LIMITED
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
