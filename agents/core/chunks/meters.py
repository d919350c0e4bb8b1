"""Chunks that a page shows while a run goes on: what is waited for, how full the context is."""

from dataclasses import dataclass
from typing import ClassVar

from agents.core.chunks.base import BaseChunk
from agents.core.chunks.traits import ChunkTraits


@dataclass(frozen=True, slots=True, kw_only=True)
class Status(BaseChunk):
    """A heartbeat while tools run: computed from the open calls, never stored."""

    type: ClassVar[str] = "status"
    traits: ClassVar[ChunkTraits] = ChunkTraits(label="Status", words=(), read_by=(), urgent=False)
    tools: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextUpdate(BaseChunk):
    type: ClassVar[str] = "context_update"
    traits: ClassVar[ChunkTraits] = ChunkTraits(
        label="Context", words=(), read_by=("pages",), urgent=False
    )
    context_tokens: int
    max_context_tokens: int
