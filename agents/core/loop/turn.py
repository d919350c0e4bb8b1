"""One turn: what the model is told first, its request, its tool calls, and the record of it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from agents.core.behaviours.run_interface import PLAIN_TURN, StepChunks, TurnOrder
from agents.core.chunks import Hint, OracleStreamChunk, Turn
from agents.core.decisions.checkpoint import start_turn_state
from agents.core.decisions.notices import (
    LOOP_EVENT,
    attribute_to_tree,
    limit_metadata,
    wrap_up_notice,
)
from agents.core.loop.context import RunContext
from agents.core.loop.forecast import WRAP_UP_NOTE_CHARS
from agents.core.loop.held_calls import release_held_calls
from agents.core.loop.model_call import ModelReply, call_model, charge
from agents.core.loop.prompt import EMPTY_NOTE, GO_ON_NOTE, wrap_up_note
from agents.core.loop.tool_batch import ToolBatch
from agents.core.loop.tool_calls import (
    deliver_tool_results,
    finish_pending_calls,
    plan_tool_calls,
    run_tool_calls,
)
from agents.core.loop.tool_plan import (
    all_calls_failed,
    build_own_calls,
    count_trailing_errors,
)
from agents.core.notify.hints import FittedHints, HintLine, fit_hints, fit_words
from agents.core.reasons import INSIDE_LIMIT
from agents.core.sanitize import is_blank, truncate
from agents.core.state import merge_usage_source
from agents.core.stuck import (
    LOOP_COUNT,
    TurnAction,
    build_action,
    call_pattern,
    digest,
    join_signatures,
)
from agents.core.tokens import TokenCharge

_FAILING = frozenset({"content_filter", "length"})


@dataclass(slots=True)
class TurnInProgress:
    """A turn that has begun and is not folded into the state yet."""

    wrap_up: str | None = None
    order: TurnOrder = PLAIN_TURN
    """What a behaviour wants of it."""
    prompt_chars: int = 0
    """Of the conversation as the request finds it."""
    steps: int = 0
    """How many of the steps are done."""
    answer: ModelReply = field(default_factory=ModelReply)
    batch: ToolBatch = field(default_factory=ToolBatch)
    cost: TokenCharge | None = None

    @property
    def next_step(self) -> str:
        return STEPS[self.steps]

    @property
    def failure(self) -> str:
        """The reason for which a run may end because this request failed for good, or nothing.
        Interim text that is cut off serves as far as it goes."""
        if self.answer.error is not None:
            return "provider_error"
        if self.answer.finish not in _FAILING:  # most have not: this is asked several times a turn
            return ""
        finish = self.answer.finish_reason
        if finish == "length" and not self.order.interim:
            return "output_truncated"
        return finish if finish == "content_filter" else ""


def begin_turn(
    ctx: RunContext, wrap_up: str | None, order: TurnOrder = PLAIN_TURN
) -> Iterator[OracleStreamChunk]:
    """Tell the tree, the user and the model what there is to know before the request."""
    ctx.state = start_turn_state(ctx.guard, ctx.state, wrap_up)
    number = ctx.state.turn + 1
    yield ctx.emit(Turn, number=number, phase="start", wrap_up=wrap_up, interim=order.interim)
    yield from ctx.emit_due_notices()
    yield from ctx.tell_waiting("turn_start")
    if wrap_up in INSIDE_LIMIT:
        yield from ctx.tell(attribute_to_tree(wrap_up_notice(wrap_up, ctx.state), ctx.tally.tree))
    if order.calls:  # what the model is told waits for its next request
        return
    fitted = _collect_notes(ctx, wrap_up, order.say)
    yield from ctx.record_dropped(fitted.dropped)
    ctx.bus.reminders.record_told(fitted.events)
    if fitted.texts:
        yield ctx.emit(Hint, text=ctx.prompt.add_notes(fitted.texts), events=fitted.events)


def _collect_notes(ctx: RunContext, wrap_up: str | None, say: str) -> FittedHints:
    """Return what is put into the conversation; on a wrap-up turn, no more than was forecast."""
    hints, ctx.hints = ctx.hints, []
    if ctx.state.finish_reason == "empty":
        hints.append(HintLine(EMPTY_NOTE))
    if wrap_up is None:
        fitted = fit_hints(hints, spare=ctx.spare_hint_chars())
        fitted.texts.extend(fit_words(say, fitted))
    else:
        last = wrap_up_note(wrap_up)
        fitted = fit_hints(hints, WRAP_UP_NOTE_CHARS - len(last))
        fitted.texts.append(last)
    if not fitted.texts and ctx.prompt.messages[-1]["role"] == "assistant":
        fitted.texts.append(GO_ON_NOTE)
    return fitted


def say_to_model(ctx: RunContext, words: str) -> Iterator[OracleStreamChunk]:
    """Put what a behaviour says into the conversation, in a turn that has begun."""
    if texts := fit_words(words, FittedHints([])):
        yield ctx.emit(Hint, text=ctx.prompt.add_notes(texts))


STEPS = ("ask", "plan", "execute", "deliver", "fold")
"""Of one turn, in their order. Each is done once, whoever strings them together."""


def start_step(ctx: RunContext, turn: TurnInProgress) -> StepChunks:
    """Return the chunks of the next step of a turn; it is done when they are all taken."""
    match STEPS[turn.steps]:
        case "ask" if turn.order.calls:
            turn.answer.calls = build_own_calls(turn.order.calls)
        case "ask":
            return call_model(ctx, turn.answer)
        case "plan":
            return _take_answer(ctx, turn)
        case "execute" if turn.answer.calls:
            return run_tool_calls(ctx, turn.batch)
        case "deliver" if turn.answer.calls:
            return deliver_tool_results(ctx, turn.batch)
        case "fold":
            return _end_turn(ctx, turn)
    return ()


def _take_answer(ctx: RunContext, turn: TurnInProgress) -> Iterator[OracleStreamChunk]:
    """Book what the model has said, and plan what it wants done."""
    answer = turn.answer
    turn.cost = charge(ctx, answer)
    text = "".join(answer.text)
    ctx.tally.wrote_text = ctx.tally.wrote_text or not (turn.order.interim or is_blank(text))
    if answer.calls:
        yield from plan_tool_calls(ctx, turn.batch, text, answer.calls)
        if _is_new_loop(ctx, turn.batch):
            yield _record_loop(ctx, turn.batch)
    elif text:
        ctx.prompt.add({"role": "assistant", "content": text})


def _is_new_loop(ctx: RunContext, batch: ToolBatch) -> bool:
    """Note what a batch is about, before it is run; return whether such calls were made often, and
    that was not recorded in this run."""
    if ctx.state.wrap_up_reason or not batch.entries:  # a wrap-up turn runs nothing
        return False
    batch.pattern = join_signatures(
        [call_pattern(entry.name, entry.arguments, entry.signature) for entry in batch.entries]
    )
    batch.pattern_digest = digest(batch.pattern)
    if ctx.is_loop_recorded:
        return False
    return ctx.state.progress.count_coming(batch.pattern_digest) >= LOOP_COUNT


def _record_loop(ctx: RunContext, batch: ToolBatch) -> OracleStreamChunk:
    """Return the event of a loop. The user and the model are told when the turn is over, unless
    that ends the run."""
    ctx.is_loop_recorded = True
    about = limit_metadata("", ctx.state.progress.count_coming(batch.pattern_digest), LOOP_COUNT)
    return ctx.emit_event(
        LOOP_EVENT,
        current=about["current_value"],
        limit=about["limit_value"],
        percent=about["percent"],
        action=truncate(join_signatures(entry.signature for entry in batch.entries)),
    )


def _end_turn(ctx: RunContext, turn: TurnInProgress) -> Iterator[OracleStreamChunk]:
    """Fold a turn into the state."""
    cost = turn.cost or charge(ctx, turn.answer)
    ctx.record_growth(ctx.prompt.chars - turn.prompt_chars, cost.completion)
    yield _fold_turn(ctx, turn, cost, _build_turn_action(ctx, turn.batch))
    yield from ctx.tell_waiting("turn_end")


def abort_turn(ctx: RunContext, turn: TurnInProgress) -> Iterator[OracleStreamChunk]:
    """Fold a turn that failed on our side: its calls get their results, its tokens are booked."""
    release_held_calls(ctx, turn.batch)
    yield from finish_pending_calls(ctx, turn.batch, "something went wrong inside Oracle")
    yield _fold_turn(ctx, turn, turn.cost or charge(ctx, turn.answer), TurnAction(""))


def _build_turn_action(ctx: RunContext, batch: ToolBatch) -> TurnAction:
    """Return what the turn did. A wrap-up turn runs nothing, whatever it asks for."""
    done = [] if ctx.state.wrap_up_reason else batch.entries
    writes = any(ctx.tools.writes(entry.name) for entry in done)
    ended = [(entry, entry.outcome) for entry in done if entry.outcome is not None]
    return build_action(
        [(entry.signature, outcome.content) for entry, outcome in ended],
        writes=writes,
        has_written=writes and not all_calls_failed(done),
        pattern=batch.pattern_digest,
        receipts=[place for place, (_, outcome) in enumerate(ended) if outcome.is_receipt],
    )


def _fold_turn(ctx: RunContext, turn: TurnInProgress, cost: TokenCharge, step: TurnAction) -> Turn:
    """Record the turn's end, and take it into the state by that record alone."""
    answer, batch = turn.answer, turn.batch
    is_whole = step.action == batch.pattern
    action_digest = digest(step.action) if step.action and not is_whole else batch.pattern_digest
    ended = ctx.emit(
        Turn,
        number=ctx.state.turn + 1,
        phase="end",
        wrap_up=ctx.state.wrap_up_reason,
        answered=answer.answered,
        prompt_tokens=cost.prompt,
        completion_tokens=cost.completion,
        subagent_tokens=batch.subagent_tokens,
        usage_source=merge_usage_source(batch.subagent_source, cost.source),
        model_ms=answer.model_ms,
        finish_reason=_finish_reason(ctx, answer),
        action=step.action,
        action_digest=action_digest if step.action else "",
        pattern=step.pattern if step.action and not is_whole else "",
        results=step.results,
        results_normalised=step.results_normalised,
        writes=step.writes,
        answers=step.answers,
        failed=all_calls_failed(batch.entries),
        errors=count_trailing_errors(batch.entries),
        held=sum(entry.is_held for entry in batch.entries),
        interim=turn.order.interim,
        failure=_find_failure(ctx, answer) if ctx.state.wrap_up_reason else "",
    )
    ctx.state = ctx.state.after_turn(ended)
    return ended


def _find_failure(ctx: RunContext, answer: ModelReply) -> Literal["", "provider_error", "timeout"]:
    """Return why the last answer failed; empty for a whole one."""
    if ctx.cancellation.requested:
        return ""
    if answer.is_late:
        return "timeout"
    return "provider_error" if answer.error is not None or answer.cut == "cut" else ""


def _finish_reason(ctx: RunContext, answer: ModelReply) -> str:
    """Return how the answer ended. An empty one ends a run that has written its answer before."""
    if ctx.limits.order.calls:
        return "tool_calls"
    reason = answer.finish_reason
    is_end = reason == "empty" and ctx.tally.wrote_text and ctx.state.wrap_up_reason is None
    return "stop" if is_end else reason
