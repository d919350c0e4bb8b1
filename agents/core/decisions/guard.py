"""Calls into a decision tree, made safe: a tree that fails is replaced, never the run's end."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from agents.core.config import AgentConfig
from agents.core.decisions.endings import DECLINED, NEEDS_APPROVAL
from agents.core.decisions.protocol import TREES, DecisionTree, build_tree
from agents.core.decisions.trees.default import DefaultDecisionTree
from agents.core.reasons import REASONS
from agents.core.state import AgentState, Notice
from agents.core.stuck import action_signature

logger = logging.getLogger(__name__)
T = TypeVar("T")

TREE_OWNED_FIELDS = frozenset({"extensions", "notices", "withheld_tools"})
LOOP_OWNED_FIELDS = tuple(
    name for name in AgentState.__dataclass_fields__ if name not in TREE_OWNED_FIELDS
)
RESERVED_REASONS = frozenset({"completed", "user_cancelled", DECLINED, NEEDS_APPROVAL})
"""Reasons that a tree cannot give a run: only a model completes it, only a person cancels it or
says no, and a run that is paused has asked something."""


class InvalidTree(Exception):
    """A tree returned something that its protocol does not allow."""


class TreeGuard:
    """A run's decision tree. When it fails, the default tree takes over from the state before."""

    def __init__(self, tree: DecisionTree, config: AgentConfig) -> None:
        self.failure: str | None = None
        self._use(tree)
        self._corrected_fields: dict[str, bool] = {}
        """Facts that the tree had changed, and whether that was reported."""
        self.config = config
        self.config = self._call(
            "get_config", lambda: config.restrict_to(tree.get_config()), _check_config, config
        )

    def _use(self, tree: DecisionTree) -> None:
        self._tree, cls = tree, type(tree)
        self.name = next((name for name, known in TREES if known is cls), cls.__name__)
        """The name the tree is registered under, or that of its class."""

    def overrides(self, method: str) -> bool:
        """Return whether the tree does something else in a method than the default tree does."""
        own = getattr(getattr(self._tree, method), "__func__", None)
        return own is not getattr(DefaultDecisionTree, method)

    def should_continue(self, state: AgentState) -> tuple[bool, str]:
        answer = self._call(
            "should_continue",
            lambda: self._tree.should_continue(state),
            lambda answer: _check_answer(answer, asks=state.held_calls > 0),
            None,
        )
        return self._tree.should_continue(state) if answer is None else answer

    def on_turn_start(self, state: AgentState) -> AgentState:
        return self._replace(state, "on_turn_start", lambda: self._tree.on_turn_start(state))

    def on_tool_result(self, state: AgentState, result: Mapping[str, Any]) -> AgentState:
        """Hand a result to the tree. Its call is in the history then, whoever put it there."""
        true = state.with_action(action_signature(result["name"], result["arguments"]))
        if not self.overrides("on_tool_result"):
            return true  # the default tree does no more than that
        return self._replace(
            true, "on_tool_result", lambda: self._tree.on_tool_result(state, result), state
        )

    def pop_reports(self) -> list[Notice]:
        """Return what there is to say about the tree, each thing once."""
        reports = []
        if self.failure is not None:
            reports.append(_failure_notice(self.failure))
            self.failure = None
        if fields := [
            name for name, is_reported in self._corrected_fields.items() if not is_reported
        ]:
            self._corrected_fields.update(dict.fromkeys(fields, True))
            reports.append(_correction_notice(self.name, fields))
        return reports

    def _replace(
        self,
        state: AgentState,
        method: str,
        call: Callable[[], AgentState],
        before: AgentState | None = None,
    ) -> AgentState:
        """Return a tree's new state, with the facts as in `state`: no tree changes those.

        `before` is what the tree was given, where that is not `state` already.
        """
        return self._call(
            method,
            lambda: self._restore_facts(state, before or state, _check_state(call())),
            _identity,
            state,
        )

    def _restore_facts(self, true: AgentState, given: AgentState, after: AgentState) -> AgentState:
        if after is given:
            return true
        values = {
            f: getattr(true, f) for f in LOOP_OWNED_FIELDS if getattr(after, f) != getattr(true, f)
        }
        if _may_stop(given, after):
            values.pop("termination_reason", None)
        for name in values:
            if getattr(after, name) != getattr(given, name) and name not in self._corrected_fields:
                logger.warning("decision tree %s changed %s; it was restored", self.name, name)
                self._corrected_fields[name] = False
        return replace(after, **values) if values else after

    def _call(
        self, method: str, call: Callable[[], Any], check: Callable[[Any], T], fallback: T
    ) -> T:
        try:
            return check(call())
        except Exception as error:
            logger.exception("decision tree %s failed in %s", self.name, method)
            self.failure = f"{self.name}.{method}: {type(error).__name__}"
            self._use(DefaultDecisionTree(self.config))
            return fallback


def _may_stop(given: AgentState, after: AgentState) -> bool:
    """Return whether the tree asks for an end, with a reason that is a tree's to give."""
    reason = after.termination_reason
    return (
        given.termination_reason is None and reason is not None and reason not in RESERVED_REASONS
    )


def _failure_notice(failure: str) -> Notice:
    return Notice(
        key=f"tree:{failure}",
        system_type="notification",
        message=f"The decision tree failed ({failure}); the run goes on with the default one.",
        metadata={"limit_type": "tree", "failure": failure},
    )


def _correction_notice(tree: str, fields: Sequence[str]) -> Notice:
    names = ", ".join(fields)
    return Notice(
        key=f"tree:corrected:{names}",
        system_type="notification",
        severity="info",
        message=f"The decision tree {tree} changed what it does not own ({names}); "
        "it was restored.",
        metadata={"limit_type": "tree", "corrected": list(fields)},
    )


def _identity(answer: T) -> T:
    return answer


def build_guard(name: str, config: AgentConfig) -> TreeGuard:
    """Build the tree of that name, guarded. Raises NotRegistered if there is none."""
    return TreeGuard(build_tree(name, config), config)


def _check_config(answer: Any) -> AgentConfig:
    if not isinstance(answer, AgentConfig):
        raise InvalidTree(f"get_config must return an AgentConfig, not {type(answer).__name__}")
    return answer


def _check_answer(answer: Any, *, asks: bool) -> tuple[bool, str] | None:
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise InvalidTree("should_continue must return (goes on, reason)")
    goes_on, reason = answer
    if not goes_on and reason not in REASONS:
        raise InvalidTree(f"should_continue gave the unknown reason {reason!r}; register it first")
    if not goes_on and reason == NEEDS_APPROVAL and not asks:
        raise InvalidTree("should_continue cannot pause a run: nothing was asked")
    return bool(goes_on), "" if goes_on else reason


def _check_state(answer: Any) -> AgentState:
    if not isinstance(answer, AgentState):
        raise InvalidTree(f"a state must be returned, not {type(answer).__name__}")
    reason = answer.termination_reason
    if reason is not None and reason not in REASONS:
        raise InvalidTree(f"the unknown reason {reason!r} was set; register it first")
    owned: Any = answer  # whatever its annotations say
    if not (
        isinstance(owned.notices, tuple)
        and all(isinstance(notice, Notice) for notice in owned.notices)
        and isinstance(owned.withheld_tools, frozenset)
    ):
        raise InvalidTree("notices must be a tuple of Notice, withheld_tools a frozenset of names")
    return answer
