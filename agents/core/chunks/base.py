"""What every chunk is."""

from dataclasses import dataclass
from typing import ClassVar

from agents.core.chunks.traits import ChunkTraits, require_traits


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseChunk:
    """What every chunk carries. `parent` is the call id that started the subagent, if one spoke;
    of a subagent's subagent, the ids from the outside in, as `qualify_call_id` joins them."""

    type: ClassVar[str]
    traits: ClassVar[ChunkTraits]
    seq: int = 0
    at: float = 0.0
    parent: str = ""

    def __init_subclass__(cls) -> None:
        require_traits(cls)
