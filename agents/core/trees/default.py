"""Deprecated: import from `agents.core.decisions.trees.default`."""

from agents.core.deprecation import moved_to

__getattr__ = moved_to(
    "agents.core.decisions.trees.default", renamed={"DefaultTree": "DefaultDecisionTree"}
)
