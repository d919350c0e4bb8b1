"""Deprecated: import from `agents.core.decisions.protocol`."""

from agents.core.deprecation import moved_to

__getattr__ = moved_to("agents.core.decisions.protocol")
