"""What a behaviour may name where it is read."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from agents.core.behaviours.words import WORDS, WordRegistry


@dataclass(frozen=True, slots=True, kw_only=True)
class BehaviourVocabulary:
    """All that can be named. Tools and decision trees that are not given (None) are not checked."""

    words: WordRegistry = field(default_factory=lambda: WORDS)
    tools: Collection[str] | None = None
    decision_trees: Collection[str] | None = None
    behaviours: Mapping[str, str] = field(default_factory=dict)
    """The texts of other behaviours, by name."""
