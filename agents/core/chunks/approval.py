"""The chunk of a run that waits for somebody to decide."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from agents.core.chunks.base import BaseChunk
from agents.core.chunks.traits import ChunkTraits

Asker = Literal["behaviour", "rule", "tool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval(BaseChunk):
    """A question to a person, with which a run ends. `calls` are those that wait for the answer;
    `snapshot` is where a behaviour goes on, for it alone to read."""

    type: ClassVar[str] = "approval"
    traits: ClassVar[ChunkTraits] = ChunkTraits(
        label="Approval",
        words=("question", "snapshot"),
        read_by=("pages", "context", "export", "transcript", "audit"),
        urgent=False,  # stored with the run's end, never before it
    )
    approval_id: str
    asker: Asker
    question: str
    calls: tuple[str, ...] = ()
    snapshot: Mapping[str, Any] = field(default_factory=dict)
