"""One request to the model: stream it, show it, and stop it where a limit says so."""

import logging
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

from agents.core.chunks import Chunk, Content, System, Thinking
from agents.core.context import RunContext
from agents.core.inbox import Inbox
from agents.core.ports import (
    CallProgress,
    Finished,
    ModelError,
    ModelRequest,
    ModelStream,
    RawCall,
    ReasoningDelta,
    Retrying,
    TextDelta,
    Usage,
)
from agents.core.tasks import spawn, stop
from agents.core.text import storable
from agents.core.tokens import WRAP_UP_ANSWER, Charge

log = logging.getLogger(__name__)


FIRST_TOKEN_SECONDS = 4.0
STREAM_SECONDS = 15.0
_PIECES = frozenset({TextDelta, ReasoningDelta})
_IMPATIENT = frozenset({"no_progress", "error_limit"})
"""Reasons whose wrap-up lies after the limit: it must come soon or not at all."""


@dataclass(slots=True)
class Answer:
    """What came of a request. `cut` is set when we stopped reading, `error` when it failed."""

    text: list[str] = field(default_factory=list)
    chars: int = 0
    """Characters of text, reasoning and calls: what the completion is estimated by."""
    call_chars: int = 0
    calls: tuple[RawCall, ...] = ()
    finish: str | None = None
    usage: Usage | None = None
    sent: bool = False
    ended: bool = False
    cut: str = ""
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
        return "stop" if "".join(self.text).strip() else "empty"


class _StreamOver:
    """The pump's last word."""


def build_request(ctx: RunContext, answer: Answer) -> ModelRequest:
    """The next request. A wrap-up withholds tools; it still shows them when calls were made,
    because providers refuse a history with calls and no tools."""
    wrap_up = ctx.state.wrap_up_reason is not None
    tools, size = ctx.schemas(), ctx.prompt.chars + ctx.tool_chars()
    if wrap_up and not (ctx.prompt.has_calls and ctx.meter.fits(size)):
        tools, size = (), ctx.prompt.chars
    cap = WRAP_UP_ANSWER if wrap_up else ctx.meter.limit
    max_tokens, answer.capped = ctx.meter.answer_cap(size, cap)
    answer.prompt_chars = size
    return ModelRequest(
        messages=tuple(ctx.prompt.messages),
        tools=tools,
        tool_choice="none" if wrap_up else "auto",
        max_tokens=max_tokens,
        deadline=ctx.deadline,
    )


async def ask(ctx: RunContext, answer: Answer) -> AsyncGenerator[Chunk, None]:
    """Make one request and fill in `answer`; yields what is shown meanwhile."""
    request = build_request(ctx, answer)
    most_chars = ctx.meter.chars(ctx.meter.left - ctx.meter.estimate(answer.prompt_chars))
    impatient = ctx.state.wrap_up_reason in _IMPATIENT
    began = ctx.clock.monotonic()
    until = min(ctx.deadline, began + FIRST_TOKEN_SECONDS) if impatient else ctx.deadline
    inbox = ctx.open_inbox()
    ctx.arm(until)
    if ctx.cancellation.requested or ctx.reached(until):
        answer.cut = "cut"
        return
    answer.sent = True
    stream = ctx.model.stream(request)
    pump = spawn(_pump(inbox, stream), "model stream")
    try:
        while True:
            item = await inbox.get()
            if item is None:
                ctx.tick()
                for chunk in ctx.tell_due():
                    yield chunk
                if ctx.state.cancelled or ctx.reached(until):
                    answer.cut = "cut"
                    break
                continue
            if type(item) is _StreamOver:
                break
            if impatient and isinstance(item, TextDelta | ReasoningDelta) and item.text:
                impatient = False
                until = min(ctx.deadline, ctx.clock.monotonic() + STREAM_SECONDS)
                ctx.arm(until)
            if type(item) in _PIECES:
                item = _with_what_follows(item, inbox, most_chars - answer.chars)
            if (shown := _take(ctx, answer, item)) is not None:
                yield shown
            if answer.chars > most_chars and not answer.ended:
                answer.cut = "budget"
                break
    finally:
        await stop([pump], ctx.grace)
        answer.model_ms = round(1000 * (ctx.clock.monotonic() - began))
    for item in (*inbox.take_all(), *stream.held_back()):
        if type(item) is not _StreamOver and (shown := _take(ctx, answer, item)) is not None:
            yield shown
    if not (answer.ended or answer.cut or answer.error):
        answer.error = ModelError("The model's answer broke off without an end. Try again.")


def _with_what_follows(item: Any, inbox: Inbox[Any], most: float) -> Any:
    """A piece of text with what has arrived of it meanwhile: a flood costs fewer chunks."""
    kind, texts, size = type(item), [item.text], len(item.text)
    while size <= most and (more := inbox.next_of(kind)) is not None:
        texts.append(more.text)
        size += len(more.text)
    return kind("".join(texts)) if len(texts) > 1 else item


async def _pump(inbox: Inbox[Any], stream: ModelStream) -> None:
    """Move the stream's events into the inbox, and how it ended."""
    try:
        async for event in stream:
            inbox.put(event)
            await inbox.room()
    except ModelError as error:
        inbox.put(error)
    except Exception as error:
        log.exception("the model client failed")
        inbox.put(
            ModelError(
                f"The model client failed ({type(error).__name__}). Try again; if it happens "
                "again, tell your administrator."
            )
        )
    finally:
        await stream.aclose()
        inbox.put(_StreamOver())


def _take(ctx: RunContext, answer: Answer, item: object) -> Chunk | None:
    """Book one event of the stream; the chunk to show for it, if any."""
    match item:
        case TextDelta(text) if text:
            text = storable(text)
            answer.text.append(text)
            answer.chars += len(text)
            return ctx.emit(Content, content=text)
        case ReasoningDelta(text) if text:
            answer.chars += len(text)
            return ctx.emit(Thinking, content=storable(text))
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
                System,
                system_type="provider",
                system_message=f"{message} Trying again in {wait:.1f} s." if wait else message,
                severity="info",
                metadata={"attempt": attempt, "wait": wait},
            )
        case _:
            raise TypeError(f"not a model event: {item!r}")
    return None


def charge(ctx: RunContext, answer: Answer) -> Charge:
    """Book the request's tokens. One that was not sent, or refused, costs nothing."""
    if not answer.sent or (answer.error and not answer.answered):
        return Charge(0, 0, "provider")
    usage = answer.usage if answer.ended else None
    return ctx.meter.charge(usage, answer.prompt_chars, answer.chars)
