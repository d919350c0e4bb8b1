"""One tool call of a run, with all it got and gave."""

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from agents.core.chunks import CallView, ToolCalled, ToolResult
from agents.ledger import load_chunks

PREVIEW_CHARS = 2_000
"""Of a result, before somebody asks for all of it."""


@dataclass(frozen=True)
class StoredToolCall:
    call: CallView
    result: ToolResult | None
    is_discarded: bool = False
    """Whether a subagent made it that did not finish: what was said is not kept."""

    @property
    def arguments(self) -> str:
        given: Any = self.call.arguments
        return given if isinstance(given, str) else json.dumps(given, indent=2, ensure_ascii=False)

    @property
    def text(self) -> str:
        return self.result.tool_result if self.result else ""

    @property
    def given(self) -> str:
        """What the model got where it is not the result itself."""
        return self.result.given if self.result else ""

    @property
    def preview(self) -> str:
        return self.text[:PREVIEW_CHARS]

    @property
    def is_long(self) -> bool:
        return len(self.text) > PREVIEW_CHARS


def load_tool_call(run_id: UUID, number: int) -> StoredToolCall | None:
    """Return the call of that number, counted as `chat.rendering.answer` does: by appearance."""
    calls: dict[tuple[str, str], CallView] = {}
    results: dict[tuple[str, str], ToolResult] = {}
    for chunk in load_chunks(run_id, kinds=("tool_call", "tool_result")):
        match chunk:
            case ToolCalled(tool_call=call, parent=parent):
                calls[parent, call.id] = call
            case ToolResult(parent=parent) as result:
                results[parent, result.tool_call_id] = result
    if number >= len(calls):
        return None
    key = list(calls)[number]
    started_by = results.get(("", key[0]))
    return StoredToolCall(
        calls[key], results.get(key), started_by is not None and not started_by.has_finished
    )
