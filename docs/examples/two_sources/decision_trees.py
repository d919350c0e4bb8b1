"""A tree for people who want every answer checked: nothing is final on a single source."""

from collections.abc import Mapping
from typing import Any

from agents.core.config import AgentConfig
from agents.core.decision import decision_tree
from agents.core.state import AgentState, Notice
from agents.core.trees.default import DefaultTree

NAME = "two_sources"


@decision_tree(NAME)
class TwoSourcesTree(DefaultTree):
    """As the default, but an answer is sent back until two different things were looked up.

    What was looked up is this tree's own state: its entry in `state.extensions`.
    """

    wanted = 2

    def should_continue(self, state: AgentState) -> tuple[bool, str]:
        goes_on, reason = super().should_continue(state)
        if reason == "completed" and len(looked_up(state)) < self.wanted:
            return True, ""
        return goes_on, reason

    def on_turn_start(self, state: AgentState) -> AgentState:
        state = super().on_turn_start(state)
        if state.finish_reason != "stop":
            return state
        count = len(looked_up(state))
        return state.with_notice(
            Notice(
                key=f"{NAME}:{state.turn}",
                system_type="notification",
                severity="info",
                message=f"Checking the answer against another source ({count}/{self.wanted}).",
                hint="Check your answer against one more source before you give it.",
                metadata={
                    "limit_type": NAME,
                    "current_value": count,
                    "limit_value": self.wanted,
                    "percent": round(100 * count / self.wanted, 1),
                },
            )
        )

    def on_tool_result(self, state: AgentState, result: Mapping[str, Any]) -> AgentState:
        if not result["ok"]:
            return state
        seen = looked_up(state) | {f"{result['name']}:{sorted(result['arguments'].items())}"}
        return state.with_extension(NAME, seen)

    def get_config(self) -> AgentConfig:
        return self.config


def looked_up(state: AgentState) -> frozenset[str]:
    """What the run has looked up so far, as this tree remembers it."""
    seen: frozenset[str] = state.extensions.get(NAME, frozenset())
    return seen
