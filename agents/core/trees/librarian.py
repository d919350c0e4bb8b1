"""The tree of the librarian, a subagent that reads and summarises for the main run."""

from agents.core.config import AgentConfig
from agents.core.decision import decision_tree
from agents.core.trees.default import DefaultTree


@decision_tree("librarian")
class LibrarianTree(DefaultTree):
    """At most eight turns, and no librarian of its own."""

    withholds = frozenset({"delegate_librarian"})

    def get_config(self) -> AgentConfig:
        turns = min(self.config.max_iterations, 8)
        return self.config.model_copy(update={"max_iterations": turns})
