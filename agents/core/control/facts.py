"""What may be known of a run so far: one fold over its chunks, the same live and from rows.

Texts of results are not in it, only their sizes, and how errors begin: so it is cheap, and what a
rule looks at can be told from a stored run.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from agents.core.chunks import (
    ContextUpdate,
    EventRecord,
    OracleStreamChunk,
    Source,
    ToolCalled,
    ToolResult,
    Turn,
)
from agents.core.config import LIMITS, AgentConfig
from agents.core.control.event_stream import (
    NO_EVENTS,
    READERS,
    ChunkReader,
    EventStream,
    read_turn,
)
from agents.core.control.events import EVENT_TYPES, AgentEvent
from agents.core.control.kinds import ANY, NUMBER, TEXT, TRUTH, ListKind, MapKind, RecordKind

SUCCESS = "tool.call.success"
RESULT_EVENTS = frozenset({SUCCESS, "tool.call.failure", "tool.call.timeout"})
EVENT_PARTS = frozenset({"event", "result", "time"})
"""What of the facts is worked out for each event, if somebody looks at it."""
CALL_EVENTS = frozenset(name for name in EVENT_TYPES if name.startswith("tool.call."))
"""Of a call: each names its tool."""

_RESULT_FIELDS = {
    "success": TRUTH,
    "error": TEXT,
    "duration_ms": NUMBER,
    "size": NUMBER,
}
RESULT = RecordKind("result", {"tool_name": TEXT, **_RESULT_FIELDS})
TOOL = RecordKind(
    "history.tools",
    {"name": TEXT, "arguments": MapKind(ANY), **_RESULT_FIELDS, "turn": NUMBER},
)
TURN = RecordKind(
    "turn",
    {
        "number": NUMBER,
        "iteration_count": NUMBER,
        "iteration_usage": NUMBER,
        "token_usage": NUMBER,
        "context_usage": NUMBER,
        "time_usage": NUMBER,
        "elapsed": NUMBER,
        "is_wrap_up": TRUTH,
        "answered": TRUTH,
    },
)
HISTORY = RecordKind(
    "history",
    {
        "message_count": NUMBER,
        "tools": ListKind(TOOL),
        "calls": MapKind(NUMBER),
        "failures": MapKind(NUMBER),
        "total_tool_calls": NUMBER,
        "total_failures": NUMBER,
        "sources": ListKind(TEXT),
        "writing_calls": NUMBER,
    },
)
USER = RecordKind(
    "user", {"id": TEXT, "settings": RecordKind("user.settings", dict.fromkeys(LIMITS, NUMBER))}
)
PROJECT = RecordKind("project", {"id": TEXT, "note_count": NUMBER, "settings": MapKind(ANY)})


def _writes_nothing(tool: str) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBackground:
    """What is known of a run before it begins."""

    config: AgentConfig = field(default_factory=AgentConfig)
    """The limits in force."""
    user_id: str = ""
    project_id: str = ""
    note_count: int = 0
    project_settings: Mapping[str, Any] = field(default_factory=dict)
    writes: Callable[[str], bool] = _writes_nothing
    """Whether a tool of that name changes anything."""


class Facts(EventStream):
    """Takes in the chunks of one run, in order. What a subagent does is no fact of the run."""

    def __init__(self, background: RunBackground) -> None:
        super().__init__()
        self._background = background
        self._began: int | None = None
        self._tokens = 0
        self._arguments: dict[str, Any] = {}
        self._paths: set[str] = set()
        self.turn: dict[str, Any] = {
            **dict.fromkeys(TURN.fields, 0),
            "is_wrap_up": False,
            "answered": False,
        }
        self.history: dict[str, Any] = {
            "message_count": 1,
            "tools": [],
            "calls": {},
            "failures": {},
            "total_tool_calls": 0,
            "total_failures": 0,
            "sources": [],
            "writing_calls": 0,
        }
        self._limits = background.config.model_dump()
        self._names = {
            "turn": self.turn,
            "history": self.history,
            "user": {"id": background.user_id, "settings": self._limits},
            "project": {
                "id": background.project_id,
                "note_count": background.note_count,
                "settings": background.project_settings,
            },
        }
        self._context = dict[str, Any](self._names)
        self._readers = _READERS

    def feed(self, chunk: OracleStreamChunk) -> Sequence[AgentEvent]:
        """Return what the next chunk records; the facts are then those after it."""
        if self._began is None:
            self._began = _to_milliseconds(chunk.at)
        reader = self._readers.get(type(chunk))
        return NO_EVENTS if reader is None or chunk.parent else reader(self, chunk)

    def build_context(self, event: AgentEvent, parts: Set[str] = EVENT_PARTS) -> dict[str, Any]:
        """Return the facts by their names, as they are while an event is looked at: until the next
        one is. Of what each event changes, only these parts are right."""
        context = self._context
        if "time" in parts:
            self.describe_run(event.at)
        if "event" in parts:
            context["event"] = self._describe_event(event)
        if "result" in parts:
            context["result"] = describe_result(event) if event.name in RESULT_EVENTS else None
        return context

    def _describe_event(self, event: AgentEvent) -> dict[str, Any]:
        about, payload = event.own_type or EVENT_TYPES[event.name], event.payload
        if event.name in CALL_EVENTS:
            payload = {**payload, "writes": self._background.writes(payload["tool"])}
        return {
            "type": event.name,
            "source": about.source,
            "severity": about.severity,
            "payload": payload,
        }

    def describe_run(self, at: float) -> Mapping[str, Any]:
        """Return what is known of the run at a time, by its names."""
        elapsed = (_to_milliseconds(at) - (self._began or 0)) / 1000
        self.turn["elapsed"] = elapsed
        self.turn["time_usage"] = elapsed / self._limits["timeout_seconds"]
        return self._names

    # -- the fold ---------------------------------------------------------------------------------

    def fold_context(self, chunk: ContextUpdate) -> Sequence[AgentEvent]:
        window = chunk.max_context_tokens
        self.turn["context_usage"] = chunk.context_tokens / window if window else 0
        return NO_EVENTS

    def fold_source(self, chunk: Source) -> Sequence[AgentEvent]:
        if (path := chunk.source.path) and path not in self._paths:
            self._paths.add(path)
            self.history["sources"].append(path)
        return NO_EVENTS

    def fold_record(self, chunk: EventRecord) -> Sequence[AgentEvent]:
        events = self.read_record(chunk)
        if chunk.name == "session.resumed":
            self.history["message_count"] += events[0].payload["messages"]
        return events

    def fold_call(self, chunk: ToolCalled) -> Sequence[AgentEvent]:
        """Take in a call when it is first seen: one that was approved is run at once."""
        call = chunk.tool_call
        if call.status != "refused" and call.id not in self._arguments:
            self._arguments[call.id] = call.arguments
            self.history["writing_calls"] += self._background.writes(call.name)
        return self.read_call(chunk)

    def fold_result(self, chunk: ToolResult) -> Sequence[AgentEvent]:
        events = self.read_result(chunk)
        if events:
            self._add_result(events[0])
        return events

    def fold_turn(self, chunk: Turn) -> Sequence[AgentEvent]:
        turn = self.turn
        turn["number"], turn["is_wrap_up"] = chunk.number, chunk.wrap_up is not None
        is_answer = chunk.phase == "end" and chunk.finish_reason == "stop"
        turn["answered"] = is_answer and not chunk.interim
        if chunk.phase == "end":
            self._end_turn(chunk)
        return read_turn(self, chunk)

    def _end_turn(self, chunk: Turn) -> None:
        turn, limits = self.turn, self._limits
        self._tokens += chunk.prompt_tokens + chunk.completion_tokens + chunk.subagent_tokens
        if chunk.answered:
            turn["iteration_count"] += 1
            self.history["message_count"] += 1
        turn["iteration_usage"] = turn["iteration_count"] / limits["max_iterations"]
        turn["token_usage"] = self._tokens / limits["token_budget"]

    def _add_result(self, event: AgentEvent) -> None:
        history, payload = self.history, event.payload
        tool, succeeded = payload["tool"], event.name == SUCCESS
        history["tools"].append(
            {
                "name": tool,
                "arguments": self._arguments.pop(payload["id"], None),
                "success": succeeded,
                "error": payload.get("error", ""),
                "duration_ms": payload["duration_ms"],
                "size": payload["size"],
                "turn": self.turn["number"],
            }
        )
        history["message_count"] += 1
        history["total_tool_calls"] += 1
        history["calls"][tool] = history["calls"].get(tool, 0) + 1
        if not succeeded:
            history["total_failures"] += 1
            history["failures"][tool] = history["failures"].get(tool, 0) + 1


def describe_result(event: AgentEvent) -> dict[str, Any]:
    """Return what a tool's result is called in expressions."""
    payload = event.payload
    return {
        "tool_name": payload["tool"],
        "success": event.name == SUCCESS,
        "error": payload.get("error", ""),
        "duration_ms": payload["duration_ms"],
        "size": payload["size"],
    }


def _to_milliseconds(at: float) -> int:
    """Return a moment as it is stored, cut to milliseconds: rows know no finer."""
    whole = int(at)
    return whole * 1000 + round((at - whole) * 1_000_000) // 1000


_READERS: Mapping[type[Any], ChunkReader] = {
    **READERS,
    ContextUpdate: Facts.fold_context,
    EventRecord: Facts.fold_record,
    Source: Facts.fold_source,
    ToolCalled: Facts.fold_call,
    ToolResult: Facts.fold_result,
    Turn: Facts.fold_turn,
}
