"""A short answer soon: few iterations, no subagent. Also the example in docs/decision-trees.md."""

from agents.core.config import AgentConfig
from agents.core.decisions.protocol import decision_tree
from agents.core.decisions.trees.default import DefaultDecisionTree


@decision_tree("quick")
class QuickTree(DefaultDecisionTree):
    """At most five iterations and 45 seconds, and nothing is delegated."""

    withholds = frozenset({"delegate_librarian"})

    def get_config(self) -> AgentConfig:
        return self.config.model_copy(
            update={
                "max_iterations": min(self.config.max_iterations, 5),
                "timeout_seconds": min(self.config.timeout_seconds, 45),
            }
        )
