"""The tree of the librarian, a subagent that reads and summarises for the main run."""

from agents.core.config import AgentConfig
from agents.core.decisions.protocol import decision_tree
from agents.core.decisions.trees.default import DefaultDecisionTree


@decision_tree("librarian", internal=True)
class LibrarianTree(DefaultDecisionTree):
    """At most eight iterations, and no librarian of its own."""

    withholds = frozenset({"delegate_librarian"})

    def get_config(self) -> AgentConfig:
        turns = min(self.config.max_iterations, 8)
        return self.config.model_copy(update={"max_iterations": turns})
