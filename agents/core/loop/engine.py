"""Do the steps of a turn, and the checkpoint before it, for every driver of a run.

    open_turn -> ask -> plan -> execute -> deliver -> fold -> open_turn

Limits are held here: whoever drives a run, a request is made in a turn, a turn is opened at a
checkpoint, and its steps are done in their order, each of them once.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from agents.core.behaviours.path import PathRecorder
from agents.core.behaviours.run_interface import PLAIN_TURN, StepChunks, TurnOrder
from agents.core.chunks import Approval, Check, Decision, OracleStreamChunk
from agents.core.decisions.checkpoint import WRAP_UP, decide, wrap_up_reason
from agents.core.decisions.endings import (
    BEHAVIOUR_ENDED,
    NEEDS_APPROVAL,
    PROVIDER_ERROR,
    TIMEOUT,
    find_failed_end,
    has_failed,
    is_met,
    measure_conditions,
)
from agents.core.decisions.notices import attribute_to_tree, limit_notice
from agents.core.loop.context import RunContext
from agents.core.loop.forecast import WRAP_UP_NOTE_CHARS
from agents.core.loop.prompt import ConversationInput
from agents.core.loop.tool_batch import ToolBatch
from agents.core.loop.turn import STEPS, TurnInProgress, begin_turn, start_step
from agents.core.messages import ModelError
from agents.core.reasons import INSIDE_LIMIT, REASONS, Outcome
from agents.core.state import Notice
from agents.core.tokens import truncate_history

ANSWERED = frozenset({"stop", "length"})
"""How a request ends that asks for no calls and has text."""
TOO_SLOW = "The model took too long for its last answer. Continue to try again."
MAX_FAILED_REQUESTS = 50
"""Of one run, whatever its behaviour tries instead: they are no iterations, so nothing else counts
those that failed before their answer."""


class TurnEngine:
    """One run's turns: it decides, asks, works and folds, when it is told to."""

    def __init__(self, ctx: RunContext, conversation: ConversationInput) -> None:
        self.ctx = ctx
        self.conversation = conversation
        self.checkpoint = "start"
        self.reason = ""
        """Why the run has ended; empty while it goes on."""
        self.error: ModelError | None = None
        """What to tell the user instead of the reason's own sentence."""
        self.failure: ModelError | None = None
        """Why the request of the turn before failed, while a behaviour may try something else."""
        self.failures: list[str] = []
        """The codes of all requests that failed, those of errors that stay one after another."""
        self.also_triggered: tuple[str, ...] = ()
        self.turn: TurnInProgress | None = None
        """The one that is open."""
        self.last_turn = TurnInProgress()
        """The one that was folded last."""
        self.steps_done = 0
        self.next_batch = ToolBatch()
        """Of the next turn: it books what calls outside of any turn have used."""
        self.path = PathRecorder()
        self.approval: dict[str, Any] | None = None
        """What a behaviour asks a person, with which the run ends."""

    def end(self, reason: str, error: ModelError | None = None) -> None:
        self.reason, self.error = reason, error

    def _record_fired(self, found: Sequence[Check]) -> None:
        """Keep whatever held when the run was stopped, and what came to hold until its end; also
        the reason that a tree has set, where another one goes before it."""
        reasons = [
            str(check.value) if check.rule == BEHAVIOUR_ENDED else check.rule
            for check in found
            if check.fired
        ]
        if (asked := self.ctx.state.termination_reason) is not None:
            reasons.append(asked)
        self.also_triggered = tuple(dict.fromkeys((*self.also_triggered, *reasons)))

    # -- turns ------------------------------------------------------------------------------------

    def open_turn(self, order: TurnOrder = PLAIN_TURN) -> Iterator[OracleStreamChunk]:
        """Decide whether the run goes on, and begin a turn if it does, or for its last answer.

        This is the door of every request. A turn that is open already stays as it is. No behaviour
        has a say in the last answer.
        """
        if self.turn is not None:
            return
        ctx, checkpoint = self.ctx, self.checkpoint
        self.fill_prompt()
        ctx.refresh()
        yield from ctx.context_update()
        decision, wrap_up = self._decide(checkpoint)
        yield decision
        if decision.goes_on and wrap_up is None and (failed := self.last_turn.failure):
            yield from self._report_failed_request(failed)
        self.failure = None
        if not decision.goes_on:
            yield from self._announce_stop(decision, wrap_up)
            if wrap_up is None:
                return
        order = order if wrap_up is None else PLAIN_TURN
        ctx.limits.apply(order)
        yield from begin_turn(ctx, wrap_up, order)
        self.turn = TurnInProgress(
            wrap_up, order, prompt_chars=ctx.prompt.chars, batch=self.next_batch
        )
        self.next_batch = ToolBatch()

    def play(self, until: str) -> Iterator[StepChunks]:
        """Yield the chunks of the open turn's steps, up to this one: the only place where they
        follow one another. A step is done when its chunks were all taken."""
        step, turn = "", self.turn
        while turn is not None and step != until:
            step = STEPS[turn.steps]
            yield start_step(self.ctx, turn)
            turn.steps += 1
            self.steps_done += 1
            if turn.steps == len(STEPS):
                yield self._close_turn(turn)
                return

    def _close_turn(self, turn: TurnInProgress) -> Iterator[OracleStreamChunk]:
        """End a turn that was folded."""
        self.turn, self.last_turn, error = None, turn, turn.answer.error
        self.ctx.limits.apply(PLAIN_TURN)
        if has_failed(self.ctx.state):
            yield from self._close_failed_wrap_up(error)
        elif error is not None and not self.ctx.cancellation.requested:
            if turn.wrap_up is None and self._may_try_again(error):
                self.failure = error
            else:
                self.end_with_model_error(error)
        self.checkpoint = WRAP_UP if turn.wrap_up else "turn"

    # -- failed requests --------------------------------------------------------------------------

    def _may_try_again(self, error: ModelError) -> bool:
        """Return whether a behaviour may make another request after one that failed for good: not
        if an error of the same cause has shown before that it stays."""
        is_known = error.is_permanent and error.code in self.failures
        self.failures.append(error.code if error.is_permanent else "")
        return (
            self.ctx.state.has_branches
            and not is_known
            and len(self.failures) < MAX_FAILED_REQUESTS
        )

    def _report_failed_request(self, failed: str) -> Iterator[OracleStreamChunk]:
        """Tell the user why the turn before came to nothing, since another request follows."""
        why = str(self.failure or REASONS.get(failed).sentence)
        cause = self.failure.code if self.failure is not None else failed
        yield from self.ctx.tell(
            Notice(
                key="",
                system_type="provider",
                message=f"{why} The model is asked again.",
                metadata={"limit_type": "provider", "cause": cause},
            )
        )

    # -- decisions --------------------------------------------------------------------------------

    def _decide(self, checkpoint: str) -> tuple[Decision, str | None]:
        """Decide by the state as it is now, and record what every end condition measured; return
        also why the turn to come is the wrap-up, if it is."""
        ctx = self.ctx
        goes_on, reason = decide(ctx.guard, ctx.state, checkpoint)
        wrap_up = wrap_up_reason(ctx.state, checkpoint, goes_on, reason, ctx.wrap_up_fits)
        found = measure_conditions(ctx.state)
        if not goes_on and all(check.rule != reason for check in found):
            found = (*found, Check(reason, None, None, fired=True))
        decision = ctx.emit(
            Decision,
            checkpoint=checkpoint,
            goes_on=goes_on,
            reason=reason,
            tree=ctx.guard.name,
            checks=found,
            path=self.path.take(halts=not goes_on or wrap_up is not None),
        )
        return decision, wrap_up

    def end_with_model_error(self, error: ModelError) -> None:
        """End after the endpoint failed for good."""
        self.ctx.refresh()
        self._record_fired(measure_conditions(self.ctx.state))
        self.end(PROVIDER_ERROR, error)

    def _close_failed_wrap_up(self, error: ModelError | None) -> Iterator[OracleStreamChunk]:
        """Record why there is no whole last answer. The run ends for that if no limit is reached;
        otherwise the next checkpoint ends it."""
        ctx = self.ctx
        ctx.refresh()
        asked, failure = ctx.state.wrap_up_reason or "", ctx.state.finish_reason or ""
        self.also_triggered = (*self.also_triggered, asked, failure)
        if (reason := find_failed_end(ctx.state)) != asked:
            ctx.tally.tree = ""
        if failure == TIMEOUT:
            return
        error = error or ModelError(TOO_SLOW)
        if reason == PROVIDER_ERROR:
            self.end_with_model_error(error)
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

        A limit that the last answer lies inside of is reached, and said, at the end only. So is a
        reason that no end condition bears out: a last answer that fails takes its place.
        """
        ctx = self.ctx
        self._record_fired(decision.checks)
        unmet = any(c.rule == decision.reason and not c.fired for c in decision.checks)
        if unmet and decision.checkpoint != WRAP_UP and ctx.state.asked_end != decision.reason:
            ctx.tally.tree = decision.tree
        if decision.checkpoint == WRAP_UP and ctx.state.finish_reason == "stop":
            self.also_triggered = (
                *self.also_triggered,
                "completed",
            )  # it was shaped by the limit all the same
        limited = REASONS.get(decision.reason).outcome is Outcome.LIMITED
        had_answer = ctx.state.finish_reason in ANSWERED and not ctx.state.interim
        is_over = decision.checkpoint == WRAP_UP or had_answer
        yield from ctx.emit_due_notices(warnings=limited and not is_over)
        is_settled = wrap_up is None or is_met(decision.reason, ctx.state)
        if limited and is_settled and decision.reason not in INSIDE_LIMIT:
            yield from ctx.tell(
                attribute_to_tree(limit_notice(decision.reason, ctx.state), ctx.tally.tree)
            )
        if self.approval is not None and decision.reason == NEEDS_APPROVAL:
            yield ctx.emit(Approval, **self.approval)
        if wrap_up is None:
            self.end(decision.reason)
            if decision.reason == "token_budget" and ctx.state.turn == 0:
                self._record_required_budget()

    # -- the prompt -------------------------------------------------------------------------------

    def fill_prompt(self) -> None:
        """Put together what the model reads, once."""
        if self.ctx.prompt.messages:
            return
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
