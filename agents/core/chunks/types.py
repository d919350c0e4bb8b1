"""Every chunk of a run.

Chunks are slotted and frozen because a run makes one for every piece of text. A class that does
not declare its `traits` is refused when it is defined.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from agents.core.chunks.approval import Approval
from agents.core.chunks.base import BaseChunk
from agents.core.chunks.meters import ContextUpdate, Status
from agents.core.chunks.traits import ChunkReader, ChunkTraits
from agents.core.chunks.values import (
    CallView,
    Check,
    EventSeverity,
    EventSource,
    ResultCause,
    SourceRef,
    SystemType,
    UsageSource,
)
from agents.core.reasons import Severity

OUTCOME_UNKNOWN = "Outcome unknown:"
"""How the result of a call begins that was cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking(BaseChunk):
    type: ClassVar[str] = "thinking"
    traits: ClassVar[ChunkTraits] = ChunkTraits(
        label="Thinking",
        words=("content",),
        read_by=("pages", "transcript"),
        urgent=False,
        streamed=True,
    )
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Content(BaseChunk):
    type: ClassVar[str] = "content"
    traits: ClassVar[ChunkTraits] = ChunkTraits(
        label="Answer",
        words=("content",),
        read_by=("pages", "context", "export", "transcript"),
        urgent=False,
        streamed=True,
    )
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled(BaseChunk):
    type: ClassVar[str] = "tool_call"
    traits: ClassVar[ChunkTraits] = ChunkTraits(
        label="Tool call",
        words=("tool_call.arguments",),
        read_by=("pages", "context", "export", "transcript", "audit"),
        urgent=True,
        words_are_json=True,
    )
    tool_call: CallView


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult(BaseChunk):
    """`tool_result` is what the model gets, unless `given` is: a summary. `order` is the call's
    place in its iteration; `unfinished` that of a subagent under it, though the call has ended;
    `cause` is why a call is not ok (empty in recordings from before)."""

    type: ClassVar[str] = "tool_result"
    traits: ClassVar[ChunkTraits] = ChunkTraits(
        label="Result",
        words=("tool_result",),
        optional_words=("given",),
        read_by=("pages", "context", "export", "transcript", "audit"),
        urgent=True,
    )
    tool_call_id: str
    tool_result: str
    ok: bool
    duration_ms: int
    order: int
    given: str = ""
    unfinished: bool = False
    cause: ResultCause | Literal[""] = ""

    @property
    def has_finished(self) -> bool:
        """Whether the call succeeded, and so did the subagent under it, if there was one."""
        return self.ok and not self.unfinished

    @property
    def is_unknown(self) -> bool:
        """Whether the call was cut: it may have taken effect."""
        return not self.ok and self.tool_result.startswith(OUTCOME_UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptResult(BaseChunk):
    """A result whose summary is still to come. Only if the process dies before the call's
    `tool_result` is it read again: it becomes that result."""

    type: ClassVar[str] = "kept_result"
    traits: ClassVar[ChunkTraits] = ChunkTraits(
        label="Kept result", words=("tool_result",), read_by=(), urgent=True
    )
    tool_call_id: str
    tool_result: str
    duration_ms: int
    order: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(BaseChunk):
    type: ClassVar[str] = "source"
    traits: ClassVar[ChunkTraits] = ChunkTraits(
        label="Source",
        words=("source.path", "source.snippet", "source.heading"),
        read_by=("pages", "export", "transcript"),
        urgent=False,
    )
    source: SourceRef


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemMessage(BaseChunk):
    """A notice for people: what happened, and numbers for the page in `metadata`."""

    type: ClassVar[str] = "system"
    traits: ClassVar[ChunkTraits] = ChunkTraits(
        label="Notice",
        words=("system_message", "metadata.action", "metadata.own_rule"),
        read_by=("pages", "export", "transcript", "audit"),
        urgent=True,
    )
    role: Literal["system"] = "system"
    system_type: SystemType
    system_message: str
    severity: Severity
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn(BaseChunk):
    """The start or the end of an iteration. Ends alone are enough to replay a run's decisions."""

    type: ClassVar[str] = "turn"
    traits: ClassVar[ChunkTraits] = ChunkTraits(
        label="Turn",
        words=("action",),
        read_by=("pages", "context", "export", "audit"),
        urgent=False,
        optional_words=("interim",),
        stand_ins={"interim": "Step"},  # its text is still not the answer
    )
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
    pattern: str = ""
    """Digest of what the calls were about, where that is not the whole action."""
    results: str = ""
    results_normalised: str = ""
    writes: bool = False
    failed: bool | None = None
    """Whether every call that was run failed; None when none was run."""
    errors: int | None = None
    """Errors since the batch's last success, at most two; None in recordings from before."""
    held: int = 0
    """How many of its calls wait for a person."""
    interim: str = ""
    """What the text of this turn is called, if it is not yet the answer: a plan, a draft."""
    answers: str = ""
    """Digest of its results, whatever was called; empty if something was written, and in recordings
    from before."""
    failure: Literal["", "provider_error", "timeout"] = ""
    """Why a wrap-up turn failed. Empty in recordings from before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(BaseChunk):
    """Why the run went on or stopped; for the audit. `goes_on` is `continue` on the wire."""

    type: ClassVar[str] = "decision"
    traits: ClassVar[ChunkTraits] = ChunkTraits(
        label="Decision", words=(), read_by=("audit",), urgent=False
    )
    checkpoint: str
    goes_on: bool
    reason: str
    tree: str
    checks: tuple[Check, ...]
    path: str = ""
    """The nodes of the behaviour that were left since the decision before, in their order, such as
    `11+ 14- 8!`: success, failure, halted. Empty without a behaviour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint(BaseChunk):
    """The exact words added to what the model is sent, and the chunks whose events they tell."""

    type: ClassVar[str] = "hint"
    traits: ClassVar[ChunkTraits] = ChunkTraits(
        label="Hint to the model", words=("text",), read_by=("transcript", "audit"), urgent=False
    )
    text: str
    events: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRecord(BaseChunk):
    """Something that happened and that no other chunk shows. What it tells is in `payload`; those
    fields of it that people, models and tools wrote, if there are any, are in `texts`."""

    type: ClassVar[str] = "event"
    traits: ClassVar[ChunkTraits] = ChunkTraits(
        label="Event",
        words=(),
        optional_words=("texts",),
        read_by=("audit",),
        urgent=False,
        words_are_json=True,
    )
    name: str
    severity: EventSeverity
    source: EventSource
    payload: Mapping[str, Any]
    texts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def told(self) -> dict[str, Any]:
        """All that it tells, whoever wrote it."""
        return {**self.payload, **self.texts}


@dataclass(frozen=True, slots=True, kw_only=True)
class Error(BaseChunk):
    """For people: what happened and what to do. Directly before `done`."""

    type: ClassVar[str] = "error"
    traits: ClassVar[ChunkTraits] = ChunkTraits(
        label="Error", words=(), read_by=("pages", "export", "transcript", "audit"), urgent=True
    )
    code: str
    error: str
    cause: str = ""
    """Why a model endpoint failed: one of the codes in docs/models.md."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done(BaseChunk):
    """The one terminal chunk. `explanation` is written by code and kept apart from the answer."""

    type: ClassVar[str] = "done"
    traits: ClassVar[ChunkTraits] = ChunkTraits(
        label="End", words=("explanation",), read_by=("pages", "context", "audit"), urgent=True
    )
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
    | KeptResult
    | Source
    | SystemMessage
    | Turn
    | Decision
    | Hint
    | EventRecord
    | Approval
    | Status
    | ContextUpdate
    | Error
    | Done
)

CHUNK_TYPES: Mapping[str, type[Any]] = {cls.type: cls for cls in OracleStreamChunk.__args__}
"""The chunk class of each type, as `type` names it in rows and on the wire."""


def kinds_read_by(reader: ChunkReader) -> tuple[str, ...]:
    """Return the types of the chunks that this reader wants, as rows name them."""
    return tuple(kind for kind, cls in CHUNK_TYPES.items() if reader in cls.traits.read_by)
