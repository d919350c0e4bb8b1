"""Calls into a decision tree, made safe: a tree that fails is replaced, never the run's end."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from agents.core.config import AgentConfig
from agents.core.decision import TREES, DecisionTree
from agents.core.reasons import REASONS
from agents.core.state import AgentState, Notice
from agents.core.trees.default import DefaultTree

log = logging.getLogger(__name__)
T = TypeVar("T")

TREE_OWNS = frozenset({"extensions", "notices", "withheld_tools"})
FACTS = tuple(name for name in AgentState.__dataclass_fields__ if name not in TREE_OWNS)


class BadTree(Exception):
    """A tree returned something that its protocol does not allow."""


class TreeGuard:
    """A run's decision tree. When it fails, the default tree takes over from the state before."""

    def __init__(self, tree: DecisionTree, config: AgentConfig) -> None:
        self.failure: str | None = None
        self._tree = tree
        self.config = config
        self.config = self._call(
            "get_config", lambda: config.tightened_by(tree.get_config()), _checked_config, config
        )

    @property
    def name(self) -> str:
        """The name the tree is registered under, or that of its class."""
        cls = type(self._tree)
        return next((name for name, known in TREES if known is cls), cls.__name__)

    def has_own(self, method: str) -> bool:
        """Whether the tree does something else in a method than the default tree does."""
        own = getattr(getattr(self._tree, method), "__func__", None)
        return own is not getattr(DefaultTree, method)

    def should_continue(self, state: AgentState) -> tuple[bool, str]:
        answer = self._call(
            "should_continue", lambda: self._tree.should_continue(state), _checked_answer, None
        )
        return self._tree.should_continue(state) if answer is None else answer

    def on_turn_start(self, state: AgentState) -> AgentState:
        return self._replace(state, "on_turn_start", lambda: self._tree.on_turn_start(state))

    def on_tool_result(self, state: AgentState, result: Mapping[str, Any]) -> AgentState:
        return self._replace(
            state, "on_tool_result", lambda: self._tree.on_tool_result(state, result)
        )

    def take_failure(self) -> Notice | None:
        """What there is to say about a failure, once."""
        failure, self.failure = self.failure, None
        if failure is None:
            return None
        return Notice(
            key=f"tree:{failure}",
            system_type="notification",
            message=f"The decision tree failed ({failure}); the run goes on with the default one.",
            metadata={"limit_type": "tree", "failure": failure},
        )

    def _replace(
        self, state: AgentState, method: str, call: Callable[[], AgentState]
    ) -> AgentState:
        """A tree's new state, with the facts put right: a tree cannot change what happened."""
        return self._call(method, lambda: _put_right(state, _checked_state(call())), _same, state)

    def _call(
        self, method: str, call: Callable[[], Any], checked: Callable[[Any], T], fallback: T
    ) -> T:
        try:
            return checked(call())
        except Exception as error:
            log.exception("decision tree %s failed in %s", self.name, method)
            self.failure = f"{self.name}.{method}: {type(error).__name__}"
            self._tree = DefaultTree(self.config)
            return fallback


def _put_right(before: AgentState, after: AgentState) -> AgentState:
    if after is before:
        return before
    changed = {f: getattr(before, f) for f in FACTS if getattr(after, f) != getattr(before, f)}
    return replace(after, **changed) if changed else after


def _same(answer: T) -> T:
    return answer


def _checked_config(answer: Any) -> AgentConfig:
    if not isinstance(answer, AgentConfig):
        raise BadTree(f"get_config must return an AgentConfig, not {type(answer).__name__}")
    return answer


def _checked_answer(answer: Any) -> tuple[bool, str] | None:
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise BadTree("should_continue must return (goes on, reason)")
    goes_on, reason = answer
    if not goes_on and reason not in REASONS:
        raise BadTree(f"should_continue gave the unknown reason {reason!r}; register it first")
    return bool(goes_on), "" if goes_on else reason


def _checked_state(answer: Any) -> AgentState:
    if not isinstance(answer, AgentState):
        raise BadTree(f"a state must be returned, not {type(answer).__name__}")
    owned: Any = answer  # whatever its annotations say
    if not (
        isinstance(owned.notices, tuple)
        and all(isinstance(notice, Notice) for notice in owned.notices)
        and isinstance(owned.withheld_tools, frozenset)
    ):
        raise BadTree("notices must be a tuple of Notice, withheld_tools a frozenset of names")
    return answer
