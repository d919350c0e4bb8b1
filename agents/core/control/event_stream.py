"""Chunks to events: the same list from a run that goes on and from one that was stored."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from agents.core.chunks import (
    Approval,
    CallView,
    Decision,
    Done,
    Error,
    EventRecord,
    OracleStreamChunk,
    SystemMessage,
    ToolCalled,
    ToolResult,
    Turn,
)
from agents.core.control.events import (
    EVENT_TYPES,
    MAX_NOTE_LENGTH,
    OWN_EVENT,
    AgentEvent,
    EventType,
)

MAX_ERROR_LENGTH = 500
SUBAGENT_TOOLS = frozenset({"delegate_librarian"})
SUBAGENT_COMPLETE, SUBAGENT_FAILED = "subagent.complete", "subagent.failed"
NO_SUMMARY = "the result stands as it is, without its summary."
"""Of a librarian that was to read the long result of another tool."""
SELF_NOTE_TOOL, SELF_NOTE = "notify_self", "agent.self.notify"
"""The tool whose results are notes of a model to itself, and the event that each is."""
NO_EVENTS: Sequence[AgentEvent] = ()
"""Of most chunks."""
ChunkReader = Callable[[Any, Any], Sequence[AgentEvent]]
"""What returns the events of a chunk, in the stream that it is fed to."""

_ASKED = {"pending": "tool.call.pending", "refused": "tool.call.refused"}
"""What a call that was asked for is called, by its status; the others are no events."""
_BUDGETS = {"iterations": "iteration", "tokens": "token", "context": "token", "time": "timeout"}
"""What a limit is called in the names of events."""


def list_events(chunks: Iterable[OracleStreamChunk]) -> list[AgentEvent]:
    """Return the events of a stored run."""
    stream = EventStream()
    return [event for chunk in chunks for event in stream.feed(chunk)]


class EventStream:
    """Takes in the chunks of one run, in order. What a subagent does is no event of the run."""

    def __init__(self) -> None:
        self._calls: dict[str, CallView] = {}
        self._has_begun = False
        self._readers = READERS

    def feed(self, chunk: OracleStreamChunk) -> Sequence[AgentEvent]:
        """Return what the next chunk records: mostly nothing, a few times two events."""
        reader = self._readers.get(type(chunk))
        return NO_EVENTS if reader is None or chunk.parent else reader(self, chunk)

    def read_record(self, chunk: EventRecord) -> Sequence[AgentEvent]:
        self._has_begun = True
        return [_read_record(chunk)]

    def read_decision(self, chunk: Decision) -> Sequence[AgentEvent]:
        """Return the beginning of a run from before it was recorded: its first checkpoint."""
        if self._has_begun or chunk.checkpoint != "start":
            return NO_EVENTS
        self._has_begun = True
        return [_tell(chunk, "query.start", tree=chunk.tree, control="")]

    def read_call(self, chunk: ToolCalled) -> Sequence[AgentEvent]:
        call = chunk.tool_call
        self._calls[call.id] = call
        if (name := _ASKED.get(call.status)) is None:
            return NO_EVENTS
        about = {"id": call.id, "tool": call.name, "arguments": call.arguments}
        return [AgentEvent(name, chunk.seq, chunk.at, about)]

    def read_result(self, chunk: ToolResult) -> Sequence[AgentEvent]:
        """Return what came of a call. One that was never run has no result to tell of."""
        call = self._calls.get(chunk.tool_call_id)
        if call is None or call.status == "refused" or chunk.cause == "refused":
            return NO_EVENTS
        about: dict[str, Any] = {
            "id": call.id,
            "tool": call.name,
            "duration_ms": chunk.duration_ms,
            "size": len(chunk.tool_result),
        }
        if chunk.ok:
            events = [AgentEvent("tool.call.success", chunk.seq, chunk.at, about)]
        else:
            how = "timeout" if chunk.cause == "timeout" else "failure"
            events = [_tell_failure(chunk, f"tool.call.{how}", about)]
        if call.name in SUBAGENT_TOOLS:
            events.append(
                _tell(chunk, SUBAGENT_COMPLETE, **about)
                if chunk.has_finished
                else _tell_failure(chunk, SUBAGENT_FAILED, about)
            )
        elif call.status != "running":
            pass  # it shares the result of another call, and so its summary
        elif chunk.given:
            events.append(_tell(chunk, SUBAGENT_COMPLETE, **{**about, "size": len(chunk.given)}))
        elif chunk.unfinished:
            events.append(_tell(chunk, SUBAGENT_FAILED, **about, error=NO_SUMMARY))
        if call.name == SELF_NOTE_TOOL and chunk.ok:
            events.append(_tell(chunk, SELF_NOTE, **_read_note(call)))
        return events


def _tell(chunk: OracleStreamChunk, name: str, /, **about: Any) -> AgentEvent:
    """Return what a chunk records, by its name."""
    return AgentEvent(name, chunk.seq, chunk.at, about)


def _tell_failure(chunk: ToolResult, name: str, about: Mapping[str, Any]) -> AgentEvent:
    return _tell(chunk, name, **about, error=chunk.tool_result[:MAX_ERROR_LENGTH])


def _read_note(call: CallView) -> dict[str, Any]:
    """Return what a model has told itself. Where it was erased, its texts are empty."""
    given = call.arguments if isinstance(call.arguments, Mapping) else {}
    return {
        "id": call.id,
        "message": str(given.get("message", ""))[:MAX_NOTE_LENGTH],
        "category": str(given.get("category", "")),
        "priority": str(given.get("priority", "normal")),
        "when": str(given.get("when", "next_turn")),
        "keep": given.get("keep") is True,
    }


def _read_record(chunk: EventRecord) -> AgentEvent:
    """Return what was recorded as it is. Where it was erased, its texts are empty."""
    payload = chunk.told
    known = EVENT_TYPES.get(chunk.name)
    if known is None:
        name = chunk.name
        if name == OWN_EVENT:
            name, payload = payload.get("event", name), payload.get("payload", {})
        own_type = EventType(chunk.severity, chunk.source, {})
        return AgentEvent(name, chunk.seq, chunk.at, payload, own_type)
    for name in known.fields:
        payload.setdefault(name, "")
    return AgentEvent(chunk.name, chunk.seq, chunk.at, payload)


def read_turn(stream: EventStream, chunk: Turn) -> Sequence[AgentEvent]:
    """Return that a turn begins, or that it and its calls have ended."""
    number, wrap_up = chunk.number, chunk.wrap_up or ""
    if chunk.phase == "start":
        about = {"number": number, "wrap_up": wrap_up}
        return [AgentEvent("turn.start", chunk.seq, chunk.at, about)]
    tokens = chunk.prompt_tokens + chunk.completion_tokens + chunk.subagent_tokens
    about = {
        "number": number,
        "wrap_up": wrap_up,
        "finish_reason": chunk.finish_reason,
        "tokens": tokens,
        "model_ms": chunk.model_ms,
    }
    ended = AgentEvent("turn.end", chunk.seq, chunk.at, about)
    if not chunk.action_digest:
        return [ended]
    batch = {
        "number": number,
        "action": chunk.action,
        "writes": chunk.writes,
        "errors": chunk.errors or 0,
    }
    return [AgentEvent("tool.batch.complete", chunk.seq, chunk.at, batch), ended]


def _read_notice(stream: EventStream, chunk: SystemMessage) -> Sequence[AgentEvent]:
    about = chunk.metadata
    events = []
    if name := _name_notice(chunk):
        events.append(_tell(chunk, name, **_read_limit(about), **_read_cause(name, about)))
    if about.get("event") == "agent.loop.detected":
        action = about.get("action", "")
        events.append(_tell(chunk, "agent.loop.detected", **_read_limit(about), action=action))
    if chunk.system_type == "provider":
        if "attempt" in about:
            attempt, wait = about["attempt"], about.get("wait", 0)
            events.append(_tell(chunk, "provider.retry", attempt=attempt, wait=wait))
        else:
            cause, error = about.get("cause", ""), chunk.system_message
            events.append(_tell(chunk, "provider.failed", cause=cause, error=error))
    return events


def _name_notice(chunk: SystemMessage) -> str:
    """Return the name of what a notice about a limit records. Where a decision tree has stopped
    the run short of a limit, the limit was not reached."""
    about = chunk.metadata
    budget = _BUDGETS.get(about.get("limit_type", ""), "")
    match chunk.system_type:
        case "limit_warning" if budget and about.get("phase") == "approach":
            return f"budget.{budget}.warning"
        case "limit_reached" if budget and "tree" not in about:
            return f"budget.{budget}.exceeded"
        case "context_warning":
            return "context.approaching_limit"
        case "error_limit" if "tree" not in about:
            return "agent.error.streak"
    return ""


def _read_limit(about: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "current": about.get("current_value", 0),
        "limit": about.get("limit_value", 0),
        "percent": about.get("percent", 0),
    }


def _read_cause(name: str, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return why the budget of tokens ends the run, and what the next request would take."""
    if name != "budget.token.exceeded":
        return {}
    return {"cause": about.get("cause", ""), "needed": about.get("needed", 0)}


def _read_approval(stream: EventStream, chunk: Approval) -> Sequence[AgentEvent]:
    asker, calls, question = chunk.asker, len(chunk.calls), chunk.question
    return [_tell(chunk, "approval.asked", asker=asker, calls=calls, question=question)]


def _read_error(stream: EventStream, chunk: Error) -> Sequence[AgentEvent]:
    if chunk.code != "provider_error":
        return NO_EVENTS
    return [_tell(chunk, "provider.failed", cause=chunk.cause, error=chunk.error)]


def _read_done(stream: EventStream, chunk: Done) -> Sequence[AgentEvent]:
    about = {"reason": chunk.termination_reason, "outcome": chunk.outcome}
    return [_tell(chunk, "session.end", **about, turns=chunk.turns_used, tokens=chunk.tokens_used)]


READERS: Mapping[type[Any], ChunkReader] = {
    Approval: _read_approval,
    Decision: EventStream.read_decision,
    Done: _read_done,
    Error: _read_error,
    EventRecord: EventStream.read_record,
    SystemMessage: _read_notice,
    ToolCalled: EventStream.read_call,
    ToolResult: EventStream.read_result,
    Turn: read_turn,
}
"""By the type of a chunk; what is of no type here records nothing. One table for all streams: one
that had its own methods in a table of its own would be in memory until the collector finds it."""
