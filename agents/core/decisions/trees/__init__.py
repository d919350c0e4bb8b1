"""The decision trees that come with Oracle. Importing this package registers them."""

from agents.core.decisions.trees import default, librarian, quick

__all__ = ["default", "librarian", "quick"]
