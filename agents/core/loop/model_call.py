"""One request to the model: stream it, show it, and stop it where a limit says so."""

import logging
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any, Literal

from agents.core.chunks import Content, OracleStreamChunk, SystemMessage, Thinking
from agents.core.loop.context import RunContext
from agents.core.loop.inbox import Inbox
from agents.core.messages import (
    CallProgress,
    Finished,
    ModelError,
    ModelRequest,
    RawCall,
    ReasoningDelta,
    Retrying,
    TextDelta,
    TokenUsage,
    ToolSchema,
)
from agents.core.ports import ModelStream
from agents.core.reasons import INSIDE_LIMIT
from agents.core.sanitize import is_blank, replace_unstorable
from agents.core.tasks import spawn, stop
from agents.core.tokens import MAX_WRAP_UP_TOKENS, TokenCharge, schema_chars

logger = logging.getLogger(__name__)


BEYOND_LIMIT_SECONDS = 4.5
"""How long a wrap-up may take that lies after its limit."""
SILENCE_SECONDS = 60.0
"""Without a byte, or a sixth of the run's time if that is longer: then a request is given up."""
_TEXT_DELTAS = frozenset({TextDelta, ReasoningDelta})


@dataclass(slots=True)
class ModelReply:
    """What came of a request. `cut` is set when we stopped reading, `error` when it failed."""

    text: list[str] = field(default_factory=list)
    chars: int = 0
    """Characters of text, reasoning and calls: what the completion is estimated by."""
    call_chars: int = 0
    calls: tuple[RawCall, ...] = ()
    finish: str | None = None
    usage: TokenUsage | None = None
    sent: bool = False
    ended: bool = False
    cut: str = ""
    is_late: bool = False
    """Whether the run's deadline has cut it."""
    error: ModelError | None = None
    capped: bool = False
    """Whether the run's budget set the length of the answer."""
    prompt_chars: int = 0
    model_ms: int = 0

    @property
    def answered(self) -> bool:
        return self.ended or self.chars > 0

    @property
    def finish_reason(self) -> str:
        """How the answer ended, in the words of AgentState.finish_reason."""
        if not self.ended:
            return self.cut or "error"
        if self.calls:
            return "tool_calls"
        if self.finish == "content_filter":
            return "content_filter"
        if self.finish == "length":
            return "budget" if self.capped else "length"
        return "empty" if is_blank("".join(self.text)) else "stop"


class _StreamEnd:
    """The pump's last word."""


def build_request(ctx: RunContext, answer: ModelReply, until: float) -> ModelRequest:
    """Return the next request."""
    tools, choice = _choose_tools(ctx)
    size = ctx.prompt.chars + (schema_chars(tools) if choice == "none" else ctx.tool_chars())
    cap = ctx.budget.limit if ctx.state.wrap_up_reason is None else MAX_WRAP_UP_TOKENS
    max_tokens, answer.capped = ctx.budget.max_answer_tokens(
        size, min(cap, ctx.limits.order.max_tokens or cap)
    )
    answer.prompt_chars = size
    return ModelRequest(
        messages=tuple(ctx.prompt.messages),
        tools=tools,
        tool_choice=choice,
        max_tokens=max_tokens,
        deadline=until,
        silence=max(SILENCE_SECONDS, ctx.state.time_limit / 6),
    )


def _choose_tools(ctx: RunContext) -> tuple[tuple[ToolSchema, ...], Literal["auto", "none"]]:
    """Return the tools of a request, and whether they may be called. A wrap-up withholds them, and
    so may a behaviour; they are still shown when calls were made, because providers refuse a
    history with calls and no tools."""
    tools = ctx.tool_schemas()
    is_last = ctx.state.wrap_up_reason is not None
    if not is_last and (tools or not ctx.limits.withheld):
        return tools, "auto"
    shown = tools if is_last else ctx.list_withheld_schemas()
    size = ctx.prompt.chars + schema_chars(shown)
    return (shown if ctx.prompt.has_calls and ctx.budget.has_room_for(size) else ()), "none"


def _reply_deadline(ctx: RunContext) -> float:
    """Return when the answer is of no use to the run any more."""
    reason = ctx.state.wrap_up_reason
    if reason is None or reason in INSIDE_LIMIT:
        return ctx.deadline
    return min(ctx.deadline, ctx.clock.monotonic() + BEYOND_LIMIT_SECONDS - ctx.grace)


async def call_model(
    ctx: RunContext, answer: ModelReply
) -> AsyncGenerator[OracleStreamChunk, None]:
    """Make one request and fill in `answer`; yields what is shown meanwhile."""
    until = _reply_deadline(ctx)
    request = build_request(ctx, answer, until)
    until = min(until, ctx.limits.deadline)
    most_chars = ctx.budget.to_chars(ctx.budget.left - ctx.budget.estimate(answer.prompt_chars))
    began = ctx.clock.monotonic()
    inbox = ctx.open_inbox()
    ctx.set_timers(until)
    if ctx.cancellation.requested or ctx.is_past(until):
        answer.cut, answer.is_late = "cut", ctx.is_past(ctx.deadline)
        return
    answer.sent = True
    stream = ctx.model.stream(request)
    pump = spawn(_pump(inbox, stream), "model stream")
    try:
        while True:
            item = await inbox.get()
            if item is None:
                ctx.tick()
                for chunk in ctx.emit_due_notices(warnings=ctx.state.wrap_up_reason is None):
                    yield chunk
                if ctx.state.cancelled or ctx.is_past(until):
                    answer.cut, answer.is_late = "cut", ctx.is_past(ctx.deadline)
                    break
                continue
            if type(item) is _StreamEnd:
                break
            if type(item) in _TEXT_DELTAS:
                item = _merge_queued_text(item, inbox, most_chars - answer.chars)
            if (shown := _apply_event(ctx, answer, item)) is not None:
                yield shown
            if answer.chars > most_chars and not answer.ended:
                answer.cut = "budget"
                break
    finally:
        await stop([pump], ctx.grace)
        answer.model_ms = round(1000 * (ctx.clock.monotonic() - began))
    for item in (*inbox.drain(), *stream.undelivered()):
        if type(item) is not _StreamEnd and (shown := _apply_event(ctx, answer, item)) is not None:
            yield shown
    if not (answer.ended or answer.cut or answer.error):
        answer.error = ModelError("The model's answer broke off without an end. Try again.")


def _merge_queued_text(item: Any, inbox: Inbox[Any], max_chars: float) -> Any:
    """Return a piece of text with what has arrived of it meanwhile: a flood costs fewer chunks."""
    kind, texts, size = type(item), [item.text], len(item.text)
    while size <= max_chars and (more := inbox.pop_if(kind)) is not None:
        texts.append(more.text)
        size += len(more.text)
    return kind("".join(texts)) if len(texts) > 1 else item


async def _pump(inbox: Inbox[Any], stream: ModelStream) -> None:
    """Move the stream's events into the inbox, and how it ended."""
    try:
        async for event in stream:
            inbox.put(event)
            await inbox.wait_for_capacity()
    except ModelError as error:
        inbox.put(error)
    except Exception as error:
        logger.exception("the model client failed")
        inbox.put(
            ModelError(
                f"The model client failed ({type(error).__name__}). Try again; if it happens "
                "again, tell your administrator."
            )
        )
    finally:
        await stream.aclose()
        inbox.put(_StreamEnd())


def _apply_event(ctx: RunContext, answer: ModelReply, item: object) -> OracleStreamChunk | None:
    """Book one event of the stream; the chunk to show for it, if any."""
    match item:
        case TextDelta(text) if text:
            text = replace_unstorable(text)
            answer.text.append(text)
            answer.chars += len(text)
            return ctx.emit(Content, content=text)
        case ReasoningDelta(text) if text:
            answer.chars += len(text)
            return ctx.emit(Thinking, content=replace_unstorable(text))
        case TextDelta() | ReasoningDelta():
            pass
        case CallProgress(chars):
            answer.chars += chars
            answer.call_chars += chars
        case Finished(calls, finish, usage):
            answer.calls, answer.finish, answer.usage = calls, finish, usage
            size = sum(len(call.name) + len(call.arguments) for call in calls)
            answer.chars += max(0, size - answer.call_chars)  # calls written as text come late
            answer.ended = True
        case ModelError():
            answer.error = item
        case Retrying(attempt, wait, message):
            return ctx.emit(
                SystemMessage,
                system_type="provider",
                system_message=f"{message} Trying again in {wait:.1f} s." if wait else message,
                severity="info",
                metadata={"attempt": attempt, "wait": wait},
            )
        case _:
            raise TypeError(f"not a model event: {item!r}")
    return None


def charge(ctx: RunContext, answer: ModelReply) -> TokenCharge:
    """Book the request's tokens. One that was not sent, or refused, costs nothing."""
    if not answer.sent or (answer.error and not answer.answered):
        return TokenCharge(0, 0, "provider")
    usage = answer.usage if answer.ended else None
    return ctx.budget.charge(usage, answer.prompt_chars, answer.chars)
