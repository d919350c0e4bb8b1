"""The tool calls of one turn while they are worked off."""

import asyncio
from collections import deque
from dataclasses import dataclass, field

from agents.core.chunks import UsageSource
from agents.core.loop.tool_plan import PlannedCall


@dataclass(slots=True)
class ToolBatch:
    """One turn's calls, and what their subagents used."""

    entries: list[PlannedCall] = field(default_factory=list)
    pattern: str = ""
    """What the calls are about: the tools and their key arguments."""
    pattern_digest: str = ""
    subagent_tokens: int = 0
    result_chars: int = 0
    tokens_each: int = 0
    """What each call may give to a subagent: together they leave enough for a wrap-up."""
    subagent_source: UsageSource | None = None
    """Who says so: None when there was no subagent."""
    cut: bool = False
    """Whether the calls that still run are being given up."""
    is_enough: bool = False
    """Whether one call has succeeded of several of which one was wanted."""
    waiting: deque[PlannedCall] = field(default_factory=deque)
    running: dict[str, asyncio.Task[None]] = field(default_factory=dict)
