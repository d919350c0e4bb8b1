"""Deprecated: import from `agents.core.decisions.trees`."""
