"""A behaviour that was read: frozen, and shared by all runs that it drives.

Sequences, selectors and named parts decide by nothing but how their nodes end. So nobody visits
them: a table says what is left and entered together.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

from agents.core.behaviours.blackboard import BlackboardSchema
from agents.core.behaviours.sexp import Place
from agents.core.behaviours.words import BehaviourWord
from agents.core.config import AgentConfig
from agents.core.control.kinds import ValueKind

ENDS_WITH: Mapping[str, bool] = {"sequence": False, "selector": True}
"""How the last node ended that is visited of those in it."""
_SIGNS: Mapping[bool | None, str] = {True: "+", False: "-", None: "!"}


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
    key: str = ""
    """Which key it is, if that is all that it is."""


@final
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

    @property
    def is_passed_through(self) -> bool:
        """Whether it decides nothing itself, and so is never visited."""
        return self.kind in ENDS_WITH or (self.kind == "subtree" and self.behaviour is None)

    def find_following(self, child: "BehaviourNode", succeeded: bool) -> "BehaviourNode | None":
        """Return what comes after one of its nodes; None: it ends as that one did."""
        if ENDS_WITH.get(self.kind, succeeded) is succeeded:
            return None
        at = self.children.index(child) + 1
        return self.children[at] if at < len(self.children) else None


def write_path(left: Iterable[BehaviourNode], succeeded: bool | None) -> str:
    """Return nodes that were left as paths have them; None: the run was halted in them."""
    return " ".join(f"{node.number}{_SIGNS[succeeded]}" for node in left)


class Transition(NamedTuple):
    """What happens at once when a node is left."""

    left: tuple[BehaviourNode, ...]
    """All of them with one status."""
    entered: tuple[BehaviourNode, ...]
    """Empty: what comes next is up to the node around."""
    path: str
    """What was left, as paths have it."""


class Transitions(dict[tuple[int, bool], Transition]):
    """By the number of a node, and whether it succeeded; each is found when it is wanted first."""

    def __init__(self, *roots: BehaviourNode) -> None:
        super().__init__()
        self.nodes = {node.number: node for root in roots for node in root.walk()}
        self._entered: dict[int, tuple[BehaviourNode, ...]] = {}
        self._around = {
            child.number: node for node in self.nodes.values() for child in node.children
        }

    def list_entered(self, node: BehaviourNode) -> tuple[BehaviourNode, ...]:
        """Return a node and those that are entered with it, down to the one that is visited."""
        if (entered := self._entered.get(node.number)) is None:
            inner = self.list_entered(node.children[0]) if node.is_passed_through else ()
            entered = self._entered[node.number] = (node, *inner)
        return entered

    def list_around(self, node: BehaviourNode) -> Iterator[BehaviourNode]:
        """Yield a node and those around it, short of the one that is visited."""
        yield node
        while (around := self._around.get(node.number)) is not None and around.is_passed_through:
            yield (node := around)

    def __missing__(self, key: tuple[int, bool]) -> Transition:
        number, succeeded = key
        left: list[BehaviourNode] = []
        entered: tuple[BehaviourNode, ...] = ()
        for node in self.list_around(self.nodes[number]):
            following = node.find_following(left[-1], succeeded) if left else None
            if following is not None:
                entered = self.list_entered(following)
                break
            left.append(node)
        found = self[key] = Transition(tuple(left), entered, write_path(left, succeeded))
        return found


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
    transitions: Transitions = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        roots = (self.root,) if self.cleanup is None else (self.root, self.cleanup)
        object.__setattr__(self, "transitions", Transitions(*roots))

    def walk(self) -> Iterator[BehaviourNode]:
        yield from self.root.walk()
        if self.cleanup is not None:
            yield from self.cleanup.walk()
