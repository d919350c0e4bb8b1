"""The tree that runs when nobody chose another: the end conditions, in order."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from agents.core.config import AgentConfig
from agents.core.decisions.endings import find_end_reason
from agents.core.decisions.protocol import decision_tree
from agents.core.decisions.warnings import add_due_warnings
from agents.core.state import AgentState
from agents.core.stuck import action_signature, detect_no_progress


@decision_tree("default")
class DefaultDecisionTree:
    """Asks, uses tools and goes on until there is an answer, within your limits."""

    withholds: ClassVar[frozenset[str]] = frozenset()
    """Tools that a run under this tree is not offered."""

    def __init__(self, config: AgentConfig) -> None:
        self.config = config

    def should_continue(self, state: AgentState) -> tuple[bool, str]:
        if state.termination_reason is not None:
            return False, state.termination_reason
        # Three equal calls are no loop by themselves: polling has other results each time.
        repeats = detect_no_progress(state.recent_actions) and state.progress.has_same_results
        fired = find_end_reason(state) or ("no_progress" if repeats else None)
        return (True, "") if fired is None else (False, fired)

    def on_turn_start(self, state: AgentState) -> AgentState:
        if not self.withholds <= state.withheld_tools:
            state = replace(state, withheld_tools=state.withheld_tools | self.withholds)
        return add_due_warnings(state)

    def on_tool_result(self, state: AgentState, result: Mapping[str, Any]) -> AgentState:
        return state.with_action(action_signature(result["name"], result["arguments"]))

    def get_config(self) -> AgentConfig:
        return self.config
