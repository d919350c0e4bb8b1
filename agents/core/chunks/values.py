"""What is inside of chunks: calls, sources, checks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

CallStatus = Literal["pending", "running", "held", "refused"]
EventSeverity = Literal["debug", "info", "warning", "error", "critical"]
EventSource = Literal["loop", "model", "tool", "rule"]
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
ResultCause = Literal["failed", "timeout", "cut", "refused"]


@dataclass(frozen=True, slots=True)
class SourceRef:
    """Something a result was taken from, to be cited. One with a score was found, not yet read."""

    path: str
    source_type: Literal["vault", "code", "thread", "web"]
    line: int | None = None
    snippet: str = ""
    score: float | None = None
    heading: str = ""
    end_line: int | None = None


@dataclass(frozen=True, slots=True)
class CallView:
    """A tool call as shown. Arguments that were not a JSON object stay the model's own text."""

    id: str
    name: str
    arguments: Mapping[str, Any] | str
    status: CallStatus


@dataclass(frozen=True, slots=True)
class Check:
    """One end condition at a checkpoint: what it measured, against what, and whether it fired."""

    rule: str
    value: float | str | None
    limit: float | str | None
    fired: bool


def qualify_call_id(outer: str, call_id: str) -> str:
    """Name a call as seen from the whole run: each subagent numbers its calls from one."""
    return f"{outer}/{call_id}" if outer else call_id
