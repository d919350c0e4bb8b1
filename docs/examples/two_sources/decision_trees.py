"""A tree for people who want every answer checked: nothing is final on a single source."""

from collections.abc import Mapping
from typing import Any

from agents.core.config import AgentConfig
from agents.core.decisions.protocol import decision_tree
from agents.core.decisions.trees.default import DefaultDecisionTree
from agents.core.state import AgentState, Notice

NAME = "two_sources"


@decision_tree(NAME)
class TwoSourcesTree(DefaultDecisionTree):
    """As the default, but an answer is sent back until two different things were looked up.

    What was looked up is this tree's own state: its entry in `state.extensions`.
    """

    min_sources = 2

    def should_continue(self, state: AgentState) -> tuple[bool, str]:
        goes_on, reason = super().should_continue(state)
        if reason == "completed" and len(get_lookups(state)) < self.min_sources:
            return True, ""
        return goes_on, reason

    def on_turn_start(self, state: AgentState) -> AgentState:
        state = super().on_turn_start(state)
        if state.finish_reason != "stop":
            return state
        count = len(get_lookups(state))
        return state.with_notice(
            Notice(
                key=f"{NAME}:{state.turn}",
                system_type="notification",
                severity="info",
                message=f"Checking the answer against another source ({count}/{self.min_sources}).",
                hint="Check your answer against one more source before you give it.",
                metadata={
                    "limit_type": NAME,
                    "current_value": count,
                    "limit_value": self.min_sources,
                    "percent": round(100 * count / self.min_sources, 1),
                },
            )
        )

    def on_tool_result(self, state: AgentState, result: Mapping[str, Any]) -> AgentState:
        if not result["ok"]:
            return state
        seen = get_lookups(state) | {f"{result['name']}:{sorted(result['arguments'].items())}"}
        return state.with_extension(NAME, seen)

    def get_config(self) -> AgentConfig:
        return self.config


def get_lookups(state: AgentState) -> frozenset[str]:
    """What the run has looked up so far, as this tree remembers it."""
    seen: frozenset[str] = state.extensions.get(NAME, frozenset())
    return seen
