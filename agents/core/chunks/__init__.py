"""The run's output: one closed union, used by loop, ledger, pages, API and command line.

`types` are the chunks, `values` what is inside of them, `traits` what each of them says about
itself to those who store, show and erase it, and `wire` the JSON that they are sent as.
"""

from agents.core.chunks.approval import Approval, Asker
from agents.core.chunks.base import BaseChunk
from agents.core.chunks.meters import ContextUpdate, Status
from agents.core.chunks.traits import ChunkReader, ChunkTraits
from agents.core.chunks.types import (
    CHUNK_TYPES,
    OUTCOME_UNKNOWN,
    Content,
    Decision,
    Done,
    Error,
    EventRecord,
    Hint,
    KeptResult,
    OracleStreamChunk,
    Source,
    SystemMessage,
    Thinking,
    ToolCalled,
    ToolResult,
    Turn,
    kinds_read_by,
)
from agents.core.chunks.values import (
    CallStatus,
    CallView,
    Check,
    EventSeverity,
    EventSource,
    ResultCause,
    SourceRef,
    SystemType,
    UsageSource,
    qualify_call_id,
)
from agents.core.chunks.wire import (
    OPTIONAL_FIELDS,
    PARSE_ERRORS,
    WIRE_NAMES,
    from_dict,
    to_dict,
)

__all__ = [
    "CHUNK_TYPES",
    "OPTIONAL_FIELDS",
    "OUTCOME_UNKNOWN",
    "PARSE_ERRORS",
    "WIRE_NAMES",
    "Approval",
    "Asker",
    "BaseChunk",
    "CallStatus",
    "CallView",
    "Check",
    "ChunkReader",
    "ChunkTraits",
    "Content",
    "ContextUpdate",
    "Decision",
    "Done",
    "Error",
    "EventRecord",
    "EventSeverity",
    "EventSource",
    "Hint",
    "KeptResult",
    "OracleStreamChunk",
    "ResultCause",
    "Source",
    "SourceRef",
    "Status",
    "SystemMessage",
    "SystemType",
    "Thinking",
    "ToolCalled",
    "ToolResult",
    "Turn",
    "UsageSource",
    "from_dict",
    "kinds_read_by",
    "qualify_call_id",
    "to_dict",
]
