"""The run's output: one closed union, used by loop, ledger, pages, API and command line.

Chunks are slotted and frozen because a run makes one for every piece of text. `to_dict` is the
wire form; `from_dict` reads it back and returns None for a type it does not know, because readers
must be able to ignore what a newer writer sends.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal

from agents.core.reasons import Severity

SystemType = Literal[
    "limit_warning",
    "limit_reached",
    "no_progress",
    "error_limit",
    "loop_warning",
    "tool_limit",
    "context_warning",
    "cancelled",
    "interrupted",
    "provider",
    "notification",
]
UsageSource = Literal["provider", "estimate", "mixed"]
CallStatus = Literal["pending", "running", "refused"]
OUTCOME_UNKNOWN = "Outcome unknown:"
"""How the result of a call begins that was cut."""


@dataclass(frozen=True, slots=True)
class SourceRef:
    """Something a result was taken from, to be cited."""

    path: str
    source_type: Literal["vault", "code", "thread", "web"]
    line: int | None = None
    snippet: str = ""
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseChunk:
    """What every chunk carries. `parent` is the call id that started the subagent, if one spoke;
    of a subagent's subagent, the ids from the outside in, as `qualify_call_id` joins them."""

    type: ClassVar[str]
    seq: int = 0
    at: float = 0.0
    parent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking(BaseChunk):
    type: ClassVar[str] = "thinking"
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Content(BaseChunk):
    type: ClassVar[str] = "content"
    content: str


@dataclass(frozen=True, slots=True)
class CallView:
    """A tool call as shown. Arguments that were not a JSON object stay the model's own text."""

    id: str
    name: str
    arguments: Mapping[str, Any] | str
    status: CallStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled(BaseChunk):
    type: ClassVar[str] = "tool_call"
    tool_call: CallView


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult(BaseChunk):
    """`tool_result` is exactly what the model gets; `order` is the call's place in its turn."""

    type: ClassVar[str] = "tool_result"
    tool_call_id: str
    tool_result: str
    ok: bool
    duration_ms: int
    order: int

    @property
    def is_unknown(self) -> bool:
        """Whether the call was cut: it may have taken effect."""
        return not self.ok and self.tool_result.startswith(OUTCOME_UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(BaseChunk):
    type: ClassVar[str] = "source"
    source: SourceRef


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemMessage(BaseChunk):
    """A notice for people: what happened, and numbers for the page in `metadata`."""

    type: ClassVar[str] = "system"
    role: Literal["system"] = "system"
    system_type: SystemType
    system_message: str
    severity: Severity
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn(BaseChunk):
    """The start or the end of a turn. The ends alone are enough to replay a run's decisions."""

    type: ClassVar[str] = "turn"
    number: int
    phase: Literal["start", "end"]
    wrap_up: str | None = None
    """The reason that made this the wrap-up turn."""
    answered: bool = False
    prompt_tokens: int = 0
    completion_tokens: int = 0
    subagent_tokens: int = 0
    usage_source: UsageSource = "provider"
    model_ms: int = 0
    finish_reason: str = ""
    action: str = ""
    action_digest: str = ""
    """Stands for the action once what was said has been erased."""
    results: str = ""
    results_normalised: str = ""
    writes: bool = False
    failed: bool | None = None
    """Whether every call that was run failed; None when none was run."""
    errors: int | None = None
    """Errors since the batch's last success, at most two; None in recordings from before."""


@dataclass(frozen=True, slots=True)
class Check:
    """One end condition at a checkpoint: what it measured, against what, and whether it fired."""

    rule: str
    value: float | str | None
    limit: float | str | None
    fired: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(BaseChunk):
    """Why the run went on or stopped; for the audit. `goes_on` is `continue` on the wire."""

    type: ClassVar[str] = "decision"
    checkpoint: str
    goes_on: bool
    reason: str
    tree: str
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint(BaseChunk):
    """The exact words added to what the model is sent; for the audit."""

    type: ClassVar[str] = "hint"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Status(BaseChunk):
    """A heartbeat while tools run: computed from the open calls, never stored."""

    type: ClassVar[str] = "status"
    tools: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextUpdate(BaseChunk):
    type: ClassVar[str] = "context_update"
    context_tokens: int
    max_context_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Error(BaseChunk):
    """For people: what happened and what to do. Directly before `done`."""

    type: ClassVar[str] = "error"
    code: str
    error: str
    cause: str = ""
    """Why a model endpoint failed: one of the codes in docs/models.md."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done(BaseChunk):
    """The one terminal chunk. `explanation` is written by code and kept apart from the answer."""

    type: ClassVar[str] = "done"
    termination_reason: str
    outcome: str
    turns_used: int
    tokens_used: int
    usage_source: UsageSource
    model_used: str
    context_id: str | None = None
    also_triggered: tuple[str, ...] = ()
    explanation: str = ""


OracleStreamChunk = (
    Thinking
    | Content
    | ToolCalled
    | ToolResult
    | Source
    | SystemMessage
    | Turn
    | Decision
    | Hint
    | Status
    | ContextUpdate
    | Error
    | Done
)

_TYPES: dict[str, type[Any]] = {cls.type: cls for cls in OracleStreamChunk.__args__}
_FIELD_NAMES: dict[type[Any], tuple[str, ...]] = {
    cls: tuple(f.name for f in fields(cls))
    for cls in (*_TYPES.values(), CallView, Check, SourceRef)
}
_WIRE_NAMES = {"goes_on": "continue"}
_NESTED: dict[str, type[Any]] = {"tool_call": CallView, "source": SourceRef}


def qualify_call_id(outer: str, call_id: str) -> str:
    """A call as seen from the whole run: each subagent numbers its calls anew."""
    return f"{outer}/{call_id}" if outer else call_id


def to_dict(chunk: OracleStreamChunk) -> dict[str, Any]:
    """The chunk as JSON-ready data: `type`, `seq`, `at` in ISO 8601, then its own fields."""
    data = {
        _WIRE_NAMES.get(name, name): _to_plain(getattr(chunk, name))
        for name in _FIELD_NAMES[type(chunk)]
    }
    data["at"] = datetime.fromtimestamp(chunk.at, UTC).isoformat(timespec="milliseconds")
    if not chunk.parent:
        del data["parent"]
    return {"type": chunk.type, **data}


def from_dict(data: Mapping[str, Any]) -> OracleStreamChunk | None:
    """The chunk that `to_dict` wrote, or None for a type this version does not know."""
    cls = _TYPES.get(data["type"])
    if cls is None:
        return None
    values = {
        name: data[_WIRE_NAMES.get(name, name)]
        for name in _FIELD_NAMES[cls]
        if _is_on_wire(name, data)
    }
    values["at"] = datetime.fromisoformat(values["at"]).timestamp()
    for name, nested in _NESTED.items():
        if name in values:
            values[name] = _build_nested(nested, values[name])
    if "checks" in values:
        values["checks"] = tuple(_build_nested(Check, check) for check in values["checks"])
    for name in ("tools", "also_triggered"):
        if name in values:
            values[name] = tuple(values[name])
    chunk: OracleStreamChunk = cls(**values)
    return chunk


def _build_nested(cls: type[Any], data: Mapping[str, Any]) -> Any:
    """A nested value without the fields that this version does not know."""
    return cls(**{name: data[name] for name in _FIELD_NAMES[cls] if name in data})


def _is_on_wire(name: str, data: Mapping[str, Any]) -> bool:
    return _WIRE_NAMES.get(name, name) in data


def _to_plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_to_plain(item) for item in value]
    names = _FIELD_NAMES.get(type(value))
    return value if names is None else {name: getattr(value, name) for name in names}
