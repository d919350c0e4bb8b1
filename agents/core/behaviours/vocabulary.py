"""Names that a behaviour may use."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from agents.core.behaviours.words import WORDS, WordRegistry
from agents.core.control.kinds import ValueKind


@dataclass(frozen=True, slots=True)
class ToolParameter:
    """What a tool takes under one name. `find_fault` returns why it refuses a value, or nothing."""

    kind: ValueKind
    is_required: bool
    find_fault: Callable[[Any], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class BehaviourVocabulary:
    """All that can be named. Tools and decision trees that are not given (None) are not checked;
    tools that are given with their parameters are checked for the arguments of calls."""

    words: WordRegistry = field(default_factory=lambda: WORDS)
    tools: Collection[str] | Mapping[str, Mapping[str, ToolParameter]] | None = None
    decision_trees: Collection[str] | None = None
    behaviours: Mapping[str, str] = field(default_factory=dict)
    """The texts of other behaviours, by name."""
