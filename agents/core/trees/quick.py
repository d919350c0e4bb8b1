"""A short answer soon: few turns, no subagent. Also the example in docs/decision-trees.md."""

from agents.core.config import AgentConfig
from agents.core.decision import decision_tree
from agents.core.trees.default import DefaultTree


@decision_tree("quick")
class QuickTree(DefaultTree):
    """At most five turns and 45 seconds, and nothing is delegated."""

    withholds = frozenset({"delegate_librarian"})

    def get_config(self) -> AgentConfig:
        return self.config.model_copy(
            update={
                "max_iterations": min(self.config.max_iterations, 5),
                "timeout_seconds": min(self.config.timeout_seconds, 45),
            }
        )
