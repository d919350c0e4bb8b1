"""Whether a run goes on: the trees, the conditions that end a run, and the warnings before them.

`protocol` is what a tree owes and where it is registered, `guard` calls it safely, `checkpoint`
holds it to what no tree can change, and `endings`, `warnings` and `notices` are what the shipped
`trees` are made of.
"""

from agents.core.decisions.guard import TreeGuard, build_guard
from agents.core.decisions.protocol import TREES, build_tree, check_tree_name

__all__ = ["TREES", "TreeGuard", "build_guard", "build_tree", "check_tree_name"]
