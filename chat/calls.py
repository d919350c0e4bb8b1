"""One tool call of a run, with all it got and gave."""

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from agents.core.chunks import CallView, ToolCalled, ToolResult
from agents.models import RunEvent
from agents.models.encoding import chunk_of

SHOWN_CHARS = 2_000
"""Of a result, before somebody asks for all of it."""


@dataclass(frozen=True)
class Call:
    call: CallView
    result: ToolResult | None

    @property
    def arguments(self) -> str:
        given: Any = self.call.arguments
        return given if isinstance(given, str) else json.dumps(given, indent=2, ensure_ascii=False)

    @property
    def text(self) -> str:
        return self.result.tool_result if self.result else ""

    @property
    def beginning(self) -> str:
        return self.text[:SHOWN_CHARS]

    @property
    def is_long(self) -> bool:
        return len(self.text) > SHOWN_CHARS


def call_of(run_id: UUID, number: int) -> Call | None:
    """The call of that number, counted as `chat.answers` does: by its first appearance."""
    events = RunEvent.objects.filter(run=run_id, kind__in=("tool_call", "tool_result"))
    calls: dict[tuple[str, str], CallView] = {}
    results: dict[tuple[str, str], ToolResult] = {}
    for event in events.order_by("seq"):
        match chunk_of(event):
            case ToolCalled(tool_call=call, parent=parent):
                calls[parent, call.id] = call
            case ToolResult(parent=parent) as result:
                results[parent, result.tool_call_id] = result
    if number >= len(calls):
        return None
    key = list(calls)[number]
    return Call(calls[key], results.get(key))
