"""A behaviour that was read: frozen, and shared by all runs that it drives."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agents.core.behaviours.blackboard import BlackboardSchema
from agents.core.behaviours.sexp import Place
from agents.core.behaviours.words import BehaviourWord
from agents.core.config import AgentConfig
from agents.core.control.kinds import ValueKind


@dataclass(frozen=True, slots=True)
class ValueScope:
    """What a value is read from: names as expressions see them, and the limits in force."""

    names: Mapping[str, Any]
    config: AgentConfig


@dataclass(frozen=True, slots=True)
class BoundValue:
    """A value of a node: its kind, and how it is got while a run goes on."""

    kind: ValueKind
    get: Callable[[ValueScope], Any]
    is_literal: bool = False


@dataclass(frozen=True, slots=True)
class BehaviourNode:
    """One node. Numbers count from one, in the order of the text; sub-behaviours are counted in."""

    number: int
    kind: str
    label: str
    """The node as it was written, without its children, on one line."""
    place: Place
    """In the text of its own behaviour."""
    subject: Any = None
    """What stood after its name: a name, a key, a value, a condition or a template."""
    options: Mapping[str, Any] = field(default_factory=dict)
    children: tuple["BehaviourNode", ...] = ()
    word: BehaviourWord | None = None
    behaviour: "Behaviour | None" = None
    """What a sub-behaviour is; its first node is the child."""

    def walk(self) -> Iterator["BehaviourNode"]:
        """Yield the node and all below it, in the order of the text."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """What somebody wrote: what is done next, as data."""

    name: str
    description: str
    decision_tree: str
    """Which decides whether a run may go on."""
    schema: BlackboardSchema
    root: BehaviourNode
    cleanup: BehaviourNode | None
    """What is done at every end (`:finally`)."""
    text: str
    digest: str
    reads_facts: bool = False
    """Whether it looks at what is known of a run, so that this must be kept."""

    def walk(self) -> Iterator[BehaviourNode]:
        yield from self.root.walk()
        if self.cleanup is not None:
            yield from self.cleanup.walk()
