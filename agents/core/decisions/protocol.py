"""The pluggable part of a run: a decision tree says whether it goes on.

A tree is any class that can be built as `cls(config)` and has these four methods. They are called
from the loop's own task and must be pure: no I/O, no clock but the state's.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar, runtime_checkable

from agents.core.config import AgentConfig
from agents.core.registry import NotRegistered, Registry
from agents.core.state import AgentState

METHODS = ("should_continue", "on_turn_start", "on_tool_result", "get_config")


@runtime_checkable
class DecisionTree(Protocol):
    def should_continue(self, state: AgentState) -> tuple[bool, str]:
        """Before the first turn and after each one: (goes on, reason). A reason is a code of
        `agents.core.reasons.REASONS`; it is ignored when the run goes on."""

    def on_turn_start(self, state: AgentState) -> AgentState:
        """Before each request. May add notices, withhold tools, keep its own extension."""

    def on_tool_result(self, state: AgentState, result: Mapping[str, Any]) -> AgentState:
        """For each result of a turn, in call order: call_id, name, arguments, ok, content,
        duration_ms, order, batch_size."""

    def get_config(self) -> AgentConfig:
        """Return the limits this tree wants. It can only tighten what the user allows."""


TREES: Registry[type[DecisionTree]] = Registry("decision tree")

T = TypeVar("T")


def decision_tree(name: str, *, internal: bool = False) -> Callable[[type[T]], type[T]]:
    """Class decorator: register a decision tree under a name that users can choose.

    An internal one is for subagents: recorded runs may name it, nobody is offered it.
    """

    def register(cls: type[T]) -> type[T]:
        # Whether it conforms is checked by agents.checks at start-up.
        TREES.register(name, cls, internal=internal)  # type: ignore[arg-type]
        return cls

    return register


def build_tree(name: str, config: AgentConfig) -> DecisionTree:
    """Build the tree of that name. Raises NotRegistered if there is none."""
    return TREES.get(name)(config)  # type: ignore[call-arg]  # a protocol has no constructor


def check_tree_name(name: str, called: str = "decision tree") -> str:
    """Return the name of a tree that people may choose. Raises NotRegistered for any other.

    `called` is the word for a tree where the message is read.
    """
    if name not in TREES.names():
        known = ", ".join(TREES.names())
        raise NotRegistered(f"There is no {called} {name!r}. Known: {known}.")
    return name
