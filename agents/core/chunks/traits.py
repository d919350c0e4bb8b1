"""What a chunk class says about itself, so that nobody else keeps a table of chunk types."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

ChunkReader = Literal["pages", "context", "export", "transcript", "audit"]
"""Who reads a chunk: the pages of the chat, the model in the next run of a conversation, the
export of a conversation, the transcript of what was said, the audit's timeline of what happened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkTraits:
    """How a chunk is stored, shown and erased. Each chunk class has its own, as `traits`."""

    label: str
    """What people call it."""
    words: tuple[str, ...]
    """Fields that hold what people and models wrote; `source.path` is a field in a field. They are
    stored apart, as content, which is all that erasure empties and all that the audit hides."""
    read_by: tuple[ChunkReader, ...]
    urgent: bool
    """Whether it is committed at once, not gathered with the text that follows."""
    streamed: bool = False
    """Whether it is a piece: those that follow one another make one text."""
    words_are_json: bool = False
    """Whether the one field that holds words can be more than a text. Several are JSON anyway."""
    optional_words: tuple[str, ...] = ()
    """More such fields, which came later: a chunk without them is stored as it was before."""
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    """What such a field says once it is erased, where it matters that it had said something."""

    @property
    def word_paths(self) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(field.split(".")) for field in self.words)


def require_traits(cls: type[Any]) -> None:
    """Refuse a chunk class that does not say what it is: a TypeError, where it is defined."""
    declared: Mapping[str, Any] = vars(cls)
    if not isinstance(declared.get("type"), str):
        raise TypeError(f"The chunk class {cls.__name__} has no `type`: give it a name of its own.")
    traits = declared.get("traits")
    if not isinstance(traits, ChunkTraits):
        raise TypeError(
            f"The chunk class {cls.__name__} does not say what it is: declare `traits`, with its "
            "label, the fields that hold people's words and who reads it."
        )
    fields = declared.get("__annotations__", {})
    for name in (*(path[0] for path in traits.word_paths), *traits.optional_words):
        if name not in fields:
            raise TypeError(
                f"The chunk class {cls.__name__} has no field {name!r}, which its traits name "
                "as people's words."
            )
