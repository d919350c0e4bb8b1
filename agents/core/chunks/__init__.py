"""The run's output: one closed union, used by loop, ledger, pages, API and command line.

`types` are the chunks, `values` what is inside of them, `traits` what each of them says about
itself to those who store, show and erase it, and `wire` the JSON that they are sent as.
"""

from agents.core.chunks.traits import ChunkReader, ChunkTraits
from agents.core.chunks.types import (
    CHUNK_TYPES,
    OUTCOME_UNKNOWN,
    BaseChunk,
    Content,
    ContextUpdate,
    Decision,
    Done,
    Error,
    Hint,
    KeptResult,
    OracleStreamChunk,
    ResultCause,
    Source,
    Status,
    SystemMessage,
    SystemType,
    Thinking,
    ToolCalled,
    ToolResult,
    Turn,
    UsageSource,
    kinds_read_by,
    qualify_call_id,
)
from agents.core.chunks.values import CallStatus, CallView, Check, SourceRef
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
