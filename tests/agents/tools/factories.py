"""A ToolContext for tools that are run without a loop."""

from typing import Any

from agents.core.chunks import OracleStreamChunk
from agents.core.config import AgentConfig
from agents.core.messages import ToolCall
from agents.core.ports import ToolContext
from tests.support.virtual import VirtualClock


def context(emitted: list[OracleStreamChunk] | None = None, **values: Any) -> ToolContext:
    clock = VirtualClock()
    shown: list[OracleStreamChunk] = [] if emitted is None else emitted
    facts: dict[str, Any] = {
        "call_id": "c1",
        "user_id": "ada",
        "project_id": "engine",
        "clock": clock,
        "deadline": clock.monotonic() + 100,
        "tokens_left": 20_000,
        "config": AgentConfig(),
        "emit": shown.append,
    }
    return ToolContext(**{**facts, **values})


def call(tool: str, /, **arguments: Any) -> ToolCall:
    return ToolCall("c1", tool, arguments)
